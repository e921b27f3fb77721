//! What the agent says about itself.

use super::{
    deeds::connection::Change,
    protocol::{PastPower, Scheduled},
};
use crate::{audit::Head, config::PlaceSettings};
use serde::{Deserialize, Serialize};

/// What the agent says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub version: String,
    pub protocol: u32,
    /// Privileged operations act on a simulated machine.
    pub simulated: bool,
    pub started_ms: i64,
    pub pending_asks: usize,
    #[serde(default)]
    pub power: Option<Scheduled>,
    #[serde(default)]
    pub last_power: Option<PastPower>,
    /// A change of the network that goes back unless it is confirmed.
    #[serde(default)]
    pub network_change: Option<Change>,
    /// The newest audit head the agent has.
    #[serde(default)]
    pub audit_head: Option<Head>,
    /// What went wrong at start, for health.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Where it believes both halves to be; an agent of an older version does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<PlaceSettings>,
}

impl Status {
    /// Where the agent and the server with these places do not agree.
    pub fn differences(&self, server: &PlaceSettings) -> Vec<String> {
        self.places.as_ref().map(|places| server.differences(places)).unwrap_or_default()
    }
}
