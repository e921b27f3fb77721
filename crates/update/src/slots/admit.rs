//! Steps 1 and 2 of an update: may this version be installed, and where. Nothing is written.

use super::{Blocked, Stage, StateRecord, Step, UpdateLimits, limits};
use crate::{
    Slot,
    boot::Evidence,
    bundle::{Digest, Manifest, ServiceChanges},
    status::SlotState,
};
use base::error::{ErrorCode, ToolError};

/// The parts of a verified manifest that decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub manifest: Digest,
    pub version: String,
    pub counter: u64,
    /// Seconds since 1970.
    pub created: u64,
    pub revoke_below: u64,
    pub services: ServiceChanges,
}

impl Candidate {
    /// The candidate of a manifest whose signatures were verified.
    pub fn of(manifest: &Manifest, digest: Digest) -> Self {
        Self {
            manifest: digest,
            version: manifest.version.clone(),
            counter: manifest.counter,
            created: manifest.created,
            revoke_below: manifest.revoke_below.unwrap_or(0),
            services: manifest.changes.services.clone(),
        }
    }
}

/// A candidate, and the inputs of the decision besides the record.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionInput<'a> {
    pub candidate: &'a Candidate,
    /// The boot chain's current evidence.
    pub seen: &'a Evidence,
    /// The running image's own counter, if it has one.
    pub running: Option<u64>,
    pub limits: UpdateLimits,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// No image with a smaller counter is installed: the largest of the stored floor, the running image's own counter (in
/// case the records were lost), and `revoke_below`.
pub fn floor(state: &StateRecord, running: Option<u64>) -> u64 {
    state.counter_floor.max(state.revoke_below).max(running.unwrap_or(0))
}

/// The slot that it would be written to.
///
/// # Errors
/// `failed_precondition` while a trial is uncommitted, while the running slot is not the boot chain's default, for a
/// version that is blocked, older than the floor, or different from another one with the same counter;
/// `resource_exhausted` beyond the agent's limit of installs a day.
pub fn admit(state: &StateRecord, asked: &AdmissionInput) -> Result<Slot, ToolError> {
    let &AdmissionInput { candidate, seen, running, limits, now_ms } = asked;
    let target = place(state, seen)?;
    if let Some(update) = &state.update {
        let same = update.manifest == Some(candidate.manifest);
        match update.stage {
            Stage::Trial | Stage::Committing => {
                return Err(refuse(format!("version {} is on trial and not yet committed", update.version))
                    .hint("wait until it has proved itself, or roll it back"));
            }
            Stage::Armed if same => {
                return Err(refuse(format!("version {} is installed and waits for a restart", update.version))
                    .hint("manage.update_server and `raspi-mcp slot install --reboot` restart into it, and so does system.reboot; manage.rollback takes it back"));
            }
            Stage::RolledBack if same => {
                return Err(refuse(format!("version {} failed its trial and is being judged", update.version))
                    .hint("wait until this slot has been found healthy or offline"));
            }
            _ => {}
        }
    }
    let failed = |blocked: &&Blocked| blocked.manifest == candidate.manifest && !blocked.by_person;
    if let Some(blocked) = state.blocked.iter().find(failed) {
        return Err(refuse(format!("version {} is blocked: {}", blocked.version, blocked.reason))
            .with("manifest_sha256", blocked.manifest.to_string())
            .hint(format!("install another version; a mended one has a manifest of its own. At the machine, `raspi-mcp slot unblock {}` lets this one be tried again", blocked.manifest)));
    }
    let floor = floor(state, running);
    if candidate.counter < floor {
        return Err(refuse(format!(
            "version {} has counter {}, and the floor is {floor}",
            candidate.version, candidate.counter
        ))
        .with("counter", candidate.counter)
        .with("counter_floor", floor)
        .hint("older images are not installed; rollback goes back to the one in the other slot"));
    }
    for slot in Slot::BOTH {
        let record = state.slots.of(slot);
        let taken = record.counter == Some(candidate.counter) && record.state != SlotState::Writing;
        if taken && record.manifest.is_some_and(|manifest| manifest != candidate.manifest) {
            return Err(ToolError::new(
                ErrorCode::VerificationFailed,
                format!("counter {} is that of another image, in slot {slot}", candidate.counter),
            )
            .with("counter", candidate.counter)
            .hint("two releases under one counter: ask whoever signs them"));
        }
    }
    limits::install(limits, &state.installs_ms, now_ms)?;
    Ok(target)
}

/// A person lets a blocked version be installed again: its block, and the step that removes it.
pub fn unblock(state: &StateRecord, manifest: Digest) -> Option<(Blocked, Step)> {
    let blocked = state.blocked.iter().find(|blocked| blocked.manifest == manifest)?.clone();
    let mut next = state.clone();
    next.unblock(Some(manifest));
    Some((blocked, Step::to(next)))
}

/// The slot that does not run, if the boot chain agrees that it is not the default.
fn place(state: &StateRecord, seen: &Evidence) -> Result<Slot, ToolError> {
    let running = match (seen.booted, seen.root) {
        (Some(boot), Some(root)) if boot != root => {
            return Err(refuse(format!("boot files of slot {boot} run with the root of slot {root}"))
                .hint("restart; if that does not help, look at the boot partition's cmdline and initramfs"));
        }
        _ => seen.running().ok_or_else(|| {
            ToolError::missing("this system runs from neither slot of the card")
                .hint("updates need the two slots of docs/boot.md; `raspi-mcp doctor --update` shows what is found")
        })?,
    };
    let pending = state.update.as_ref().is_some_and(|update| update.target == running);
    if pending {
        return Err(refuse(format!("slot {running} runs and has not proved itself"))
            .hint("wait until its trial ends, or roll it back"));
    }
    if seen.default != Some(running) {
        return Err(refuse(format!("slot {running} runs, and the boot chain would start another one or none"))
            .hint("wait until the running slot has been found healthy: it then becomes the default"));
    }
    Ok(running.other())
}

fn refuse(message: String) -> ToolError {
    ToolError::precondition(message)
}
