//! A channel's index: its releases, who gets them, and what is revoked. JSON, signed by the channel's keys
//! (docs/channel.md).

use crate::{
    FileLocation,
    bundle::{self, BundleError, Digest, is_time, is_version, is_word, strict},
};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most releases in one index: older ones are useless to a device that can take a newer one.
pub const MAX_OFFERS: usize = 64;
/// The most revocations.
pub const MAX_REVOKED: usize = 256;
/// Longest notes of a release, in bytes.
pub const MAX_NOTES: usize = 4096;
const MAX_REASON: usize = 512;
const WHAT: &str = "the channel's index";
/// The largest integer that every JSON reader represents exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The signed content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Index")]
pub struct ChannelIndex {
    /// Must be 1; readers refuse any other.
    pub format: u32,
    pub product: String,
    pub channel: String,
    /// Incremented with each published index; never more than `created`.
    pub sequence: u64,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970; not accepted from then on.
    pub expires: u64,
    /// Why nothing is installed from this channel for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// Newest first.
    pub releases: Vec<ReleaseEntry>,
    /// Releases that must not be installed any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoked: Vec<Revoked>,
}

/// One release, and the devices it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Offer")]
pub struct ReleaseEntry {
    pub version: String,
    pub counter: u64,
    /// SHA-256 of its manifest: no other bundle is accepted.
    pub manifest: Digest,
    /// Address of the bundle: https, or a path below the channel's base.
    pub url: String,
    /// Size of the whole bundle in bytes; a device fetches only what it lacks.
    pub size: u64,
    /// Seconds since 1970.
    pub released: u64,
    pub layout: String,
    /// Device-tree compatibles; one must be the board's.
    pub hardware: Vec<String>,
    pub rollout: Rollout,
    /// Only for devices in one of these rings; empty: for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<String>,
    /// The oldest counter from which it can be installed; an older device installs an intermediate release first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_counter: Option<u64>,
    /// Release notes, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes_url: Option<String>,
}

/// The share of devices that may have it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollout {
    /// 0 to 100.
    pub percent: u8,
    /// Selects different devices for each release.
    pub salt: String,
}

/// A bad release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revoked {
    pub manifest: Digest,
    pub version: String,
    /// The reason, for people.
    pub reason: String,
}

impl ChannelIndex {
    /// Parses the signed text.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn parse(text: &[u8]) -> Result<Self, BundleError> {
        let index: Self = strict(text, WHAT)?;
        index.check()?;
        Ok(index)
    }

    /// Its canonical bytes.
    ///
    /// # Errors
    /// [`BundleError::Malformed`] for an index that no reader would accept.
    pub fn encode(&self) -> Result<Vec<u8>, BundleError> {
        self.check()?;
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| BundleError::malformed(WHAT, error.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }

    fn check(&self) -> Result<(), BundleError> {
        let sure = |fits: bool, problem: &str| if fits { Ok(()) } else { Err(BundleError::malformed(WHAT, problem)) };
        if self.format != 1 {
            return Err(BundleError::Format { what: WHAT.into(), format: self.format.into(), reads: 1 });
        }
        sure(is_word(&self.product) && is_word(&self.channel), "its product or channel is no word")?;
        sure((1..=MAX_NUMBER).contains(&self.sequence), "its sequence is out of bounds")?;
        // At most one index a second since 1970. A number that leaves no room for later ones would be the last that
        // devices accept.
        sure(self.sequence <= self.created, "its sequence is larger than the second it was made in")?;
        sure(is_time(self.expires) && self.created < self.expires, "it expires before it is made")?;
        sure(self.paused.as_deref().is_none_or(is_reason), "its pause has no reason, or a long one")?;
        sure(self.releases.len() <= MAX_OFFERS && self.revoked.len() <= MAX_REVOKED, "it lists too many releases")?;
        sure(
            self.releases.is_sorted_by(|one, next| one.counter > next.counter),
            "its releases are not in order, newest first",
        )?;
        let versions: BTreeSet<&str> = base::sort::set(self.releases.iter().map(|offer| offer.version.as_str()));
        let manifests: BTreeSet<&Digest> = base::sort::set(self.releases.iter().map(|offer| &offer.manifest));
        sure(versions.len() == self.releases.len() && manifests.len() == versions.len(), "a release is listed twice")?;
        let revoked: BTreeSet<&Digest> = base::sort::set(self.revoked.iter().map(|one| &one.manifest));
        sure(revoked.len() == self.revoked.len(), "a release is revoked twice")?;
        for one in &self.revoked {
            sure(is_version(&one.version) && is_reason(&one.reason), "a revocation has no version or reason")?;
        }
        self.releases.iter().try_for_each(|offer| {
            offer.check().map_err(|problem| {
                BundleError::malformed(format!("release {} of {WHAT}", shown(&offer.version)), problem)
            })
        })
    }

    /// Why the release with this manifest must not be installed; `None` if it is not revoked.
    pub fn revocation(&self, manifest: &Digest) -> Option<&str> {
        self.revoked.iter().find(|one| one.manifest == *manifest).map(|one| one.reason.as_str())
    }
}

impl ReleaseEntry {
    fn check(&self) -> Result<(), &'static str> {
        let sure = |fits: bool, problem: &'static str| if fits { Ok(()) } else { Err(problem) };
        sure(is_version(&self.version), "its version is none")?;
        sure((1..=MAX_NUMBER).contains(&self.counter) && self.size <= MAX_NUMBER, "a number is out of bounds")?;
        sure(self.min_counter.is_none_or(|from| from < self.counter), "it can be installed from nothing before it")?;
        sure(is_time(self.released), "its time is none")?;
        sure(is_word(&self.layout), "its layout is no word")?;
        sure(
            (1..=64).contains(&self.hardware.len()) && self.hardware.iter().all(|word| is_word(word)),
            "its hardware is none",
        )?;
        sure(self.rings.len() <= 64 && self.rings.iter().all(|ring| is_word(ring)), "a ring is no word")?;
        sure(self.rollout.percent <= 100, "its rollout is more than 100 percent")?;
        sure(is_word(&self.rollout.salt), "its rollout has no salt")?;
        sure(
            self.notes.len() <= MAX_NOTES && !self.notes.contains(|c: char| c.is_control() && c != '\n'),
            "its notes are too long",
        )?;
        let page = |url: &String| matches!(FileLocation::parse(url), Ok(FileLocation::Web(_)));
        sure(self.notes_url.as_ref().is_none_or(page), "the address of its notes is none")?;
        sure(
            self.url.len() <= 1024 && FileLocation::join("https://base.invalid", &self.url).is_ok(),
            "its address is none",
        )
    }

    /// The addresses of its bundle, for a device that knows the channel under `bases`, in the order of preference.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid base.
    pub fn places(&self, bases: &[String]) -> Result<Vec<FileLocation>, ToolError> {
        let mut places = Vec::new();
        for base in bases {
            let place = FileLocation::join(base, &self.url)?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// Whether a bundle's verified head is that of this release: a new index with an old bundle would be a downgrade.
    ///
    /// # Errors
    /// `verification_failed` with what differs.
    pub fn is_of(&self, channel: &str, digest: &Digest, manifest: &bundle::Manifest) -> Result<(), ToolError> {
        let differs = [
            (self.manifest != *digest, "manifest"),
            (self.version != manifest.version, "version"),
            (self.counter != manifest.counter, "counter"),
            (manifest.channel != channel, "channel"),
            (self.layout != manifest.layout, "layout"),
        ];
        let Some((_, what)) = differs.iter().find(|(differs, _)| *differs) else { return Ok(()) };
        let version = &self.version;
        Err(ToolError::new(
            ErrorCode::VerificationFailed,
            format!("the bundle at the address of {version} has another {what} than the channel says, so it is another release"),
        )
        .with("expected_manifest", self.manifest.to_string())
        .with("found_manifest", digest.to_string())
        .hint("nothing was written; whoever publishes the channel has to put the right bundle there"))
    }
}

fn is_reason(text: &str) -> bool {
    (1..=MAX_REASON).contains(&text.len()) && !text.contains(char::is_control)
}

fn shown(version: &str) -> String {
    version.chars().filter(|c| !c.is_control()).take(64).collect()
}
