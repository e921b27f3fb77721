//! What an update is to do, and for whom.

use super::super::bundle::Digest;
use serde::{Deserialize, Serialize};

/// Who orders an update that nobody asked for.
pub const AUTOMATIC: &str = "update.automatic";

/// One update that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Names the job.
    pub id: String,
    /// The tool whose call this is; the agent's policy is asked by that name.
    pub tool: String,
    pub principal: String,
    /// SHA-256 of the canonical JSON of the call's arguments.
    pub args_sha256: String,
    /// The ask that a person answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<String>,
    pub wanted: WantedRelease,
    /// What ran when it was ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_version: Option<String>,
}

/// Which release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Wanted", deny_unknown_fields)]
pub struct WantedRelease {
    pub channel: String,
    /// This version and no other; `None`: what the channel has for this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// This very bundle and no other, by its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Digest>,
}

/// The release an update turned out to be about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    pub version: String,
    pub counter: u64,
    pub manifest: Digest,
}
