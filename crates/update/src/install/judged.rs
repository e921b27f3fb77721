//! The agent's judgement of a bundle's head, before anything is written.

use crate::{Slot, bundle::Digest};
use serde::{Deserialize, Serialize};

/// The judgement of a bundle's head: it is signed, for this device, and may be installed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    pub version: String,
    pub counter: u64,
    pub channel: String,
    pub manifest_sha256: Digest,
    /// The slot that it would be written to.
    pub target: Slot,
    /// Bytes of its images.
    pub total_bytes: u64,
    /// It resumes an interrupted install: what is written already is not requested again.
    pub resumes: bool,
    /// What a person should know, for example that the clock is not set.
    pub notes: Vec<String>,
    pub simulated: bool,
}
