//! A reboot or shutdown that will come, and how the last one ended.

use crate::machine::PowerAction;
use serde::{Deserialize, Serialize};

/// A reboot or shutdown that will come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduled {
    #[serde(default)]
    pub action: PowerAction,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    pub reason: Option<String>,
    pub principal: String,
    /// Nothing but the simulated machine will notice.
    pub simulated: bool,
}

/// How a reboot or shutdown ended, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastPower {
    pub scheduled: Scheduled,
    pub outcome: PowerOutcome,
    /// More about it, for a person.
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
