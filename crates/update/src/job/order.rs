//! The order of an update: what, and on whose behalf.

use super::super::bundle::Digest;
use serde::{Deserialize, Serialize};

/// Principal of an automatic update.
pub const AUTOMATIC: &str = "update.automatic";

/// One ordered update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Order")]
pub struct UpdateOrder {
    /// The job's id.
    pub id: String,
    /// The tool that was called; the agent's policy goes by it.
    pub tool: String,
    pub principal: String,
    /// SHA-256 of the canonical JSON of the call's arguments.
    pub args_sha256: String,
    /// The approved ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<String>,
    pub wanted: WantedRelease,
    /// The version that ran when it was ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_version: Option<String>,
}

/// The requested release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Wanted", deny_unknown_fields)]
pub struct WantedRelease {
    pub channel: String,
    /// Exactly this version; `None`: the channel's choice for this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Exactly this bundle, by its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Digest>,
}

/// The release that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Release")]
pub struct FoundRelease {
    pub version: String,
    pub counter: u64,
    pub manifest: Digest,
}
