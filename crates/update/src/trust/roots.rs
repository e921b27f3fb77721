//! A device's root of trust: which keys may sign what, the thresholds, and the successor.

use super::{PublicKey, Purpose, Signed};
use crate::bundle::{BlockIndex, BundleError, Digest, Envelope, Manifest, Signature, is_time, is_word, strict};
use serde::{Deserialize, Serialize};

/// The signed content of a root of trust: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootFile {
    /// Must be 1; readers refuse any other.
    pub format: u32,
    pub product: String,
    /// Incremented with each root.
    pub version: u64,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970; signs nothing new from then on.
    pub expires: u64,
    /// Without duplicates; at most 32.
    pub keys: Vec<PublicKey>,
    /// Signs the next root. Offline.
    pub root: KeyRole,
    /// Signs manifests. Offline.
    pub release: KeyRole,
    /// Signs channels' indexes. Online, so it gets no other rights.
    pub channel: KeyRole,
}

/// The keys of a role, and its threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Role")]
pub struct KeyRole {
    /// Ids of distinct keys of the same file; at most 16.
    pub keys: Vec<Digest>,
    /// From 1 to the number of keys.
    pub threshold: usize,
}

/// A verified root of trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootOfTrust {
    file: RootFile,
    keys: Vec<(Digest, PublicKey)>,
}

/// A manifest with enough signatures of release keys. Only [`RootOfTrust::verify_release`] creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::manual_non_exhaustive, reason = "not only other crates: nobody else makes one")]
pub struct VerifiedRelease {
    pub manifest: Manifest,
    /// SHA-256 of the manifest's bytes: the release's id.
    pub digest: Digest,
    /// Where in the bundle the blocks start, and where they end. Not signed, but bound by the index: see
    /// [`super::super::bundle::BlockIndex`].
    pub blocks_at: u64,
    pub total: u64,
    _only_here: (),
}

impl VerifiedRelease {
    /// Makes the index of this release, from the bytes that its manifest names by hash and length.
    ///
    /// # Errors
    /// [`BundleError::Hash`], and [`BundleError::Malformed`] if signed content violates the format.
    pub fn index(&self, bytes: Vec<u8>) -> Result<BlockIndex, BundleError> {
        BlockIndex::decode(bytes, &self.manifest, self.blocks_at, self.total)
    }
}

const WHAT: &str = "the root of trust";
/// Most keys of a root, which bounds the cost of verifying one.
const MAX_KEYS: usize = 32;
const MAX_ROLE: usize = 16;

impl RootOfTrust {
    /// Parses the root that comes with the image. It is trusted because of its location; the signatures of its own root
    /// keys only show that it is intact and that the keys exist.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        let signed = Signed::parse(bytes, Purpose::Root)?;
        let roots = Self::of(&signed.text)?;
        roots.verify(Purpose::Root, &signed.text, &signed.signatures, WHAT)?;
        Ok(roots)
    }

    /// Parses a root that may lack signatures, for writing and signing one.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn unverified(bytes: &[u8]) -> Result<(Self, Signed), BundleError> {
        let signed = Signed::parse(bytes, Purpose::Root)?;
        Ok((Self::of(&signed.text)?, signed))
    }

    fn of(text: &[u8]) -> Result<Self, BundleError> {
        let file: RootFile = strict(text, WHAT)?;
        let keys = file.check()?;
        Ok(Self { file, keys })
    }

    /// Accepts the next root: its version must be the next, signed by both this root's keys and its own. Its expiry is
    /// not checked, so that a device that was off for years can follow the chain; check [`RootOfTrust::fresh`] for the last
    /// one.
    ///
    /// # Errors
    /// [`BundleError`]; this root is unchanged.
    pub fn accept(&self, next: &[u8]) -> Result<Self, BundleError> {
        let signed = Signed::parse(next, Purpose::Root)?;
        self.verify(
            Purpose::Root,
            &signed.text,
            &signed.signatures,
            "the next root of trust, by the keys of the one held,",
        )?;
        let next = Self::of(&signed.text)?;
        if next.file.product != self.file.product {
            return Err(BundleError::malformed(
                "the next root of trust",
                format!("it is of product {}", next.file.product),
            ));
        }
        let want = self.file.version + 1;
        if next.file.version != want {
            return Err(BundleError::Version {
                what: "the next root of trust".into(),
                version: next.file.version,
                want,
            });
        }
        next.verify(Purpose::Root, &signed.text, &signed.signatures, "the next root of trust, by its own keys,")?;
        Ok(next)
    }

    /// Verifies a bundle's head: enough release keys must have signed the manifest, which is not parsed before.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn verify_release(&self, envelope: &Envelope) -> Result<VerifiedRelease, BundleError> {
        self.verify(Purpose::Release, &envelope.manifest, &envelope.signatures, "the manifest")?;
        let manifest = Manifest::parse(&envelope.manifest)?;
        if manifest.product != self.file.product {
            return Err(BundleError::malformed(
                "the manifest",
                format!("it is for {}, and this root of trust for {}", manifest.product, self.file.product),
            ));
        }
        if manifest.index.size != envelope.index_size() {
            return Err(BundleError::malformed(
                "the bundle's head",
                "it says another length of the index than the manifest",
            ));
        }
        let digest = Digest::of(&envelope.manifest);
        Ok(VerifiedRelease { manifest, digest, blocks_at: envelope.blocks_at, total: envelope.total, _only_here: () })
    }

    /// The ids of the channel keys that have signed `bytes`, if they meet the threshold.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn verify_channel(&self, bytes: &[u8], signatures: &[Signature]) -> Result<Vec<Digest>, BundleError> {
        self.verify(Purpose::Channel, bytes, signatures, "the channel's index")
    }

    /// Whether it may still be trusted at `now` (seconds since 1970, from the time floor).
    ///
    /// # Errors
    /// [`BundleError::Expired`].
    pub fn fresh(&self, now: u64) -> Result<(), BundleError> {
        if now < self.file.expires {
            return Ok(());
        }
        let what = format!("{WHAT}, version {},", self.file.version);
        Err(BundleError::Expired { what, expired: self.file.expires, now })
    }

    /// The product whose images it is for.
    pub fn product(&self) -> &str {
        &self.file.product
    }
    pub const fn version(&self) -> u64 {
        self.file.version
    }

    pub const fn file(&self) -> &RootFile {
        &self.file
    }

    /// The keys of `purpose`'s role that have signed `bytes`; other keys are ignored.
    fn verify(
        &self,
        purpose: Purpose,
        bytes: &[u8],
        signatures: &[Signature],
        what: &str,
    ) -> Result<Vec<Digest>, BundleError> {
        let role = self.role(purpose);
        let mut good: Vec<Digest> = Vec::new();
        for signature in signatures.iter().take(MAX_ROLE) {
            let id = signature.key_id;
            let Some((_, key)) = self.keys.iter().find(|(known, _)| *known == id && role.keys.contains(known)) else {
                continue;
            };
            if !key.verifies(purpose, bytes, signature) {
                return Err(BundleError::BadSignature { what: what.into(), key: id });
            }
            // A key counts once, however often it signs.
            if !good.contains(&id) {
                good.push(id);
            }
        }
        if good.len() >= role.threshold {
            return Ok(good);
        }
        let role_name = purpose.name().to_owned();
        Err(BundleError::Threshold { what: what.into(), role: role_name, have: good.len(), need: role.threshold })
    }

    /// The role that signs for `purpose`.
    pub const fn role(&self, purpose: Purpose) -> &KeyRole {
        match purpose {
            Purpose::Root => &self.file.root,
            Purpose::Release => &self.file.release,
            Purpose::Channel => &self.file.channel,
        }
    }
}

impl RootFile {
    /// Checks the content; returns its keys.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn check(&self) -> Result<Vec<(Digest, PublicKey)>, BundleError> {
        let sure = |fits: bool, problem: &str| if fits { Ok(()) } else { Err(BundleError::malformed(WHAT, problem)) };
        if self.format != 1 {
            return Err(BundleError::Format { what: WHAT.into(), format: self.format.into(), reads: 1 });
        }
        sure(is_word(&self.product), "product is not a plain word")?;
        sure((1..=u64::from(u32::MAX)).contains(&self.version), "version is not from 1 to 2^32 - 1")?;
        sure(is_time(self.expires) && self.created < self.expires, "expires is no time after created")?;
        sure((1..=MAX_KEYS).contains(&self.keys.len()), "it does not have 1 to 32 keys")?;
        let keys: Vec<(Digest, PublicKey)> = self.keys.iter().map(|key| (key.id(), *key)).collect();
        sure((1..keys.len()).all(|n| !self.keys[..n].contains(&self.keys[n])), "it has a key twice")?;
        for (name, role) in [("root", &self.root), ("release", &self.release), ("channel", &self.channel)] {
            let all = &role.keys;
            let known = all.iter().all(|id| keys.iter().any(|(known, _)| known == id));
            let distinct = (1..all.len()).all(|n| !all[..n].contains(&all[n]));
            sure(
                known && distinct && all.len() <= MAX_ROLE,
                &format!("role {name} has a key twice, an unknown one, or more than 16"),
            )?;
            sure(
                (1..=all.len()).contains(&role.threshold),
                &format!("role {name}'s threshold is not from 1 to its number of keys"),
            )?;
        }
        // A key on a server must not be able to sign firmware.
        let online = self.channel.keys.iter().any(|id| self.release.keys.contains(id) || self.root.keys.contains(id));
        sure(!online, "a channel key is a release or root key as well")?;
        Ok(keys)
    }
}
