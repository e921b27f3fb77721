//! A scheduled reboot or shutdown, and the outcome of the last one.

use crate::machine::PowerAction;
use serde::{Deserialize, Serialize};

/// A scheduled reboot or shutdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    #[serde(default)]
    pub action: PowerAction,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    pub reason: Option<String>,
    pub principal: String,
    /// Affects only the simulated machine.
    pub simulated: bool,
}

/// A past reboot or shutdown and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastPower {
    pub scheduled: Scheduled,
    pub outcome: PowerOutcome,
    /// Details, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerOutcome {
    /// The machine came up anew after it.
    Done,
    /// The simulated machine noted it.
    Simulated,
    /// Somebody cancelled it.
    Cancelled,
    /// The machine restarted for another reason before its time.
    Overtaken,
    /// The agent was not running at its time, and too long after.
    Missed,
    /// The machine would not.
    Failed,
}
