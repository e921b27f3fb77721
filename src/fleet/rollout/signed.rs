//! The indexes of a rollout, all signed beforehand by a person: a folder with one file for each step. Which index belongs to
//! which step follows from the plan and from the channel's index at that time, so the files are checked when they are read.

use super::plan_copy;
use base::{
    base64url, canonical,
    error::{ErrorCode, ToolError},
};
use fleet_protocol::rollout::{
    RolloutPlan,
    steps::{self, Step},
};
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use update::{
    channel::{ChannelIndex, IndexChange, publish, sign},
    trust::{MAX_SIGNED, Purpose, RootOfTrust, SecretKey, Signed},
};

/// The file of the secret that controllers share.
const SECRET: &str = "record.key";

/// The plan with its signed indexes.
#[derive(Clone)]
pub struct SignedSteps {
    pub plan: RolloutPlan,
    /// What is approved.
    pub hash: String,
    /// SHA-256 of the release's manifest.
    pub manifest: String,
    /// The sequence of step 0.
    pub sequence: u64,
    /// Seconds since 1970; the channel has to be renewed before.
    pub expires: u64,
    /// Known to all controllers of this rollout and to nobody else: the broker keeps their record, and must not make one.
    pub secret: [u8; 32],
    /// By step; the first is the channel's index before the rollout.
    files: Vec<Vec<u8>>,
}

impl SignedSteps {
    /// Signs all steps of `plan` after the channel's index `present`, valid from `created` until `expires`. `roots`: the root of trust
    /// that must accept them.
    ///
    /// # Errors
    /// `invalid_argument` for a plan that does not fit the index; `verification_failed` when devices would refuse them.
    pub fn sign(
        plan: RolloutPlan,
        present: Vec<u8>,
        (created, expires): (u64, u64),
        keys: &[SecretKey],
        roots: &RootOfTrust,
    ) -> Result<Self, ToolError> {
        let soak: u64 = plan.stages.iter().map(|stage| u64::from(stage.soak_minutes) * 60).sum();
        if created + soak >= expires {
            return Err(ToolError::invalid("the signed indexes expire before the last stage has soaked")
                .hint("sign them for more --days, or shorten soak_minutes"));
        }
        let (hash, manifest, indexes) = indexes(&plan, &present, created, expires)?;
        let base = parse(&present)?;
        let mut files = vec![present];
        for index in &indexes {
            files.push(sign(index, keys, Some(roots))?);
        }
        let mut secret = [0; 32];
        let filled = SystemRandom::new().fill(&mut secret);
        filled.map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
        Ok(Self { plan, hash, manifest, sequence: base.sequence, expires, secret, files })
    }

    /// Writes the files into the new folder `dir`.
    ///
    /// # Errors
    /// `conflict` if it is there already; `unavailable` when it cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), ToolError> {
        fs::create_dir(dir).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                ToolError::new(ErrorCode::Conflict, format!("{} is there already", dir.display()))
                    .hint("it is another rollout's: name a new folder with --signed")
            }
            _ => super::failed(dir, &error),
        })?;
        for (step, bytes) in self.files.iter().enumerate() {
            let path = dir.join(name(step));
            fs::write(&path, bytes)
                .and_then(|()| fs::File::open(&path)?.sync_all())
                .map_err(|error| super::failed(&path, &error))?;
        }
        plan_copy::write(dir, &self.plan)?;
        let path = dir.join(SECRET);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        let text = base64url::encode(&self.secret);
        file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|error| super::failed(&path, &error))?;
        fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| super::failed(dir, &error))
    }

    /// Reads the files in `dir` with the plan that was signed, whatever the owner's file says by now; `None` if an older version
    /// wrote the folder, without a copy of the plan.
    ///
    /// # Errors
    /// As [`SignedSteps::read`].
    pub fn as_signed(dir: &Path) -> Result<Option<Self>, ToolError> {
        plan_copy::read(dir)?.map(|plan| Self::read(plan, dir, None)).transpose()
    }

    /// Reads the files of `plan` in `dir`. Their signatures are checked if `roots` are given; devices check them in any case.
    ///
    /// # Errors
    /// `verification_failed` for a file that is not what the plan says; `unavailable` for one that cannot be read.
    pub fn read(plan: RolloutPlan, dir: &Path, roots: Option<&RootOfTrust>) -> Result<Self, ToolError> {
        let mut files = Vec::new();
        for step in 0..=steps::count(plan.stages.len()) as usize {
            let path = dir.join(name(step));
            let bytes = base::os::if_there(fs::read(&path)).map_err(|error| super::failed(&path, &error))?;
            files.push(bytes.filter(|bytes| bytes.len() <= MAX_SIGNED).ok_or_else(|| {
                ToolError::not_found(format!("{} is missing: the plan's indexes are not signed", path.display()))
                    .hint("`raspi-mcp fleet rollout sign` signs them; name their folder with --signed")
            })?);
        }
        let first = parse(&files[1])?;
        let (hash, manifest, indexes) = indexes(&plan, &files[0], first.created, first.expires)?;
        for (step, (index, bytes)) in indexes.iter().zip(&files[1..]).enumerate() {
            let signed = Signed::parse(bytes, Purpose::Channel)?;
            if ChannelIndex::parse(&signed.text)? != *index {
                return Err(ToolError::new(
                    ErrorCode::VerificationFailed,
                    format!("{} is not what the plan says", dir.join(name(step + 1)).display()),
                )
                .hint("the plan was changed after it was signed: sign it again into a new folder"));
            }
            if let Some(roots) = roots {
                roots.verify_channel(&signed.text, &signed.signatures)?;
            }
        }
        let path = dir.join(SECRET);
        let text = fs::read_to_string(&path).map_err(|error| super::failed(&path, &error))?;
        let secret = base64url::decode(text.trim()).and_then(|secret| <[u8; 32]>::try_from(secret).ok());
        let secret = secret.ok_or_else(|| ToolError::invalid(format!("{} has no key of 32 bytes", path.display())))?;
        let sequence = first.sequence - 1;
        Ok(Self { plan, hash, manifest, sequence, expires: first.expires, secret, files })
    }

    /// The sequence of the last step.
    pub fn last_sequence(&self) -> u64 {
        self.sequence + u64::from(steps::count(self.plan.stages.len()))
    }

    /// The signed bytes of a step; `None` beyond the last.
    pub fn bytes(&self, step: u32) -> Option<&[u8]> {
        self.files.get(step as usize).map(Vec::as_slice)
    }

    /// Which step has these bytes.
    pub fn position(&self, bytes: &[u8]) -> Option<u32> {
        self.files.iter().position(|file| file == bytes).and_then(|step| u32::try_from(step).ok())
    }
}

fn name(step: usize) -> String {
    format!("{step}.signed")
}

fn parse(bytes: &[u8]) -> Result<ChannelIndex, ToolError> {
    Ok(ChannelIndex::parse(&Signed::parse(bytes, Purpose::Channel)?.text)?)
}

/// The plan's hash, the release's manifest, and the indexes of all steps from 1.
fn indexes(
    plan: &RolloutPlan,
    present: &[u8],
    created: u64,
    expires: u64,
) -> Result<(String, String, Vec<ChannelIndex>), ToolError> {
    let base = parse(present)?;
    let wrong = |message: String| Err(ToolError::invalid(message));
    if base.channel != plan.channel {
        return wrong(format!("the index there is that of {}, and the plan is for {}", base.channel, plan.channel));
    }
    if let Some(reason) = &base.paused {
        return wrong(format!("the channel is paused: {reason}"))
            .map_err(|error| error.hint("end the pause with `raspi-mcp channel resume` before a rollout is signed"));
    }
    let Some(entry) = base.releases.iter().find(|entry| entry.version == plan.version) else {
        return wrong(format!("the channel has no release {}", plan.version)).map_err(|error| {
            error.hint("publish it for nobody first: `raspi-mcp channel publish --bundle FILE --percent 0`")
        });
    };
    if base.revocation(&entry.manifest).is_some() {
        return wrong(format!("{} is revoked in the channel", plan.version));
    }
    let manifest = entry.manifest.to_string();
    let hash = plan.hash(&manifest, &canonical::hex(&Sha256::digest(present)));
    let mut indexes = Vec::new();
    let mut last = base;
    for step in (1..=steps::count(plan.stages.len())).filter_map(Step::of) {
        let stage = &plan.stages[step.stage];
        let (version, percent, rings) = (plan.version.clone(), stage.percent, stage.rings.clone());
        let change = if step.paused {
            // Says to devices and people which plan it belongs to; signed, it binds the plan to the indexes.
            IndexChange::Pause { reason: format!("stage {} of rollout {hash} was paused", step.stage + 1) }
        } else {
            last.paused = None;
            IndexChange::Stage { version, percent, rings }
        };
        last = publish(last, change, created, expires)?;
        indexes.push(last.clone());
    }
    Ok((hash, manifest, indexes))
}

/// Whether these bytes are an index at all; its signatures are not checked.
pub(super) fn is_index(bytes: &[u8]) -> bool {
    parse(bytes).is_ok()
}
