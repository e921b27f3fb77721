//! A device's status as its agent signed it (docs/fleet.md, "The format of a status").

use serde::{Deserialize, Serialize};

/// The purpose that is signed with it.
pub const PURPOSE: &str = "raspi-mcp status 1";
/// Bytes of the whole message, at most.
pub const LONGEST: usize = 1024;

/// The document. Fields that a newer device adds are ignored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StatusDocument {
    pub fleet: String,
    pub name: String,
    pub device: String,
    /// Rises with every status of this device, over restarts too.
    pub sequence: u64,
    /// By the device's clock.
    pub time_ms: i64,
    pub boot: String,
    pub version: String,
    /// SHA-256 of the running release's manifest; `None` if no release is installed.
    pub manifest: Option<String>,
    pub counter: Option<u64>,
    pub slot: Option<String>,
    pub state: Option<String>,
    pub attempt: Option<StatusAttempt>,
    pub halted: bool,
    /// `None` if the device does not know.
    pub healthy: Option<bool>,
    pub problems: Vec<String>,
    /// Approval requests that are open.
    pub asks: u64,
    pub server: String,
    pub ring: Option<String>,
    pub tags: Vec<String>,
    pub simulated: bool,
}

/// The last update, or the one that runs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StatusAttempt {
    pub version: String,
    pub manifest: Option<String>,
    pub phase: String,
    #[serde(default)]
    pub reason: String,
    pub time_ms: i64,
}
