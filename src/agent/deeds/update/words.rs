//! What the agent is asked of updates, and what it answers.

use crate::{
    agent::Authorization,
    update::{
        Slot,
        status::{RestartPlan, SlotState},
    },
};
use serde::{Deserialize, Serialize};

/// Most problems one report of health may name; more would not be read by anybody.
pub const MAX_PROBLEMS: usize = 16;
/// Longest of them, in bytes.
pub const MAX_PROBLEM: usize = 300;

/// Which tool's call an update is; the agent's policy has a mode for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateTool {
    UpdateServer,
    ApplyOsUpdates,
}

impl UpdateTool {
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpdateServer => "manage.update_server",
            Self::ApplyOsUpdates => "manage.apply_os_updates",
        }
    }
}

/// Turns the connection into an install stream ([`crate::update::install`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallRequest {
    pub tool: UpdateTool,
    /// `None`: only the head is judged, and the stream ends with that.
    #[serde(default, rename = "warrant", skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Authorization>,
    /// What follows once it is armed.
    #[serde(default, skip_serializing_if = "RestartPlan::waits")]
    pub restart: RestartPlan,
}

/// A restart into the armed slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebootIntoRequest {
    pub tool: UpdateTool,
    /// 0 to 600.
    pub delay_seconds: u32,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The way back: out of a trial, away from an armed slot, or to the slot that ran before a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollBackRequest {
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolledBack {
    /// What runs now.
    pub from: Slot,
    pub from_version: Option<String>,
    /// What will run.
    pub to: Slot,
    pub to_version: Option<String>,
    /// Whether the machine restarts for it; an armed slot is just not tried.
    pub restarts: bool,
    pub simulated: bool,
}

/// A person's word that a trial is well. The checks have to agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkGoodRequest {
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkedGood {
    pub slot: Slot,
    pub version: Option<String>,
    /// What it was before.
    pub before: SlotState,
    pub simulated: bool,
}

/// The server half's verdict about this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthReport {
    pub healthy: bool,
    /// What does not work that did before; at most 16, each at most 300 bytes.
    pub problems: Vec<String>,
    /// The old slot was offline as well: no reason to block the version.
    pub offline: bool,
}

/// What the agent makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthTaken {
    /// This boot is a trial that has not been committed.
    pub trial: bool,
    /// It was, and this report committed it.
    pub committed: bool,
    /// What the agent itself still misses.
    pub problems: Vec<String>,
    /// Seconds the trial has left.
    pub seconds_left: Option<u64>,
}
