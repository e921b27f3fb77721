//! What the tools `fleet.*` need of a fleet: one trait, so that they do not know the broker, and its data.

pub mod callers;

use base::error::ToolError;
use contract::audit::changed::Changed;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The fleet that a server's tools reach.
pub struct ServedFleet {
    pub port: std::sync::Arc<dyn FleetPort>,
    pub callers: callers::FleetCallers,
}

/// A fleet as its owner's console reaches it. Statuses are verified: what is returned was signed by each device's agent.
pub trait FleetPort: Send + Sync {
    /// All devices that are not revoked, by name.
    ///
    /// # Errors
    /// `unavailable` when the statuses cannot be read.
    fn devices(&self) -> BoxFuture<'_, Result<Vec<FleetDeviceState>, ToolError>>;

    /// Calls a tool of one device with a token of that device.
    ///
    /// # Errors
    /// The device's refusal as it is, with its details; `unavailable` when it cannot be reached.
    fn call<'a>(&'a self, call: FleetCall<'a>) -> BoxFuture<'a, Result<FleetAnswer, ToolError>>;

    /// Orders these devices to refuse every change, and waits for their confirmation for a bounded time. All names are known.
    ///
    /// # Errors
    /// `invalid_argument` without the fleet's key; `unavailable` when the broker does not answer.
    fn halt<'a>(&'a self, devices: HaltTarget, reason: &'a str) -> BoxFuture<'a, Result<FleetHalt, ToolError>>;

    /// Reads the owner's plan of this name and its signed stages. Changes nothing.
    ///
    /// # Errors
    /// `not_found` when there is no such plan, or its stages are not signed; `verification_failed` when they do not fit it.
    fn plan_rollout<'a>(&'a self, plan: &'a str) -> BoxFuture<'a, Result<PlannedRollout, ToolError>>;

    /// Begins the rollout whose plan has this hash.
    ///
    /// # Errors
    /// `not_found` when no signed plan has it; `failed_precondition` while another rollout is not over.
    fn apply_rollout<'a>(&'a self, plan_hash: &'a str) -> BoxFuture<'a, Result<StartedRollout, ToolError>>;
}

/// A call of a tool of a device.
pub struct FleetCall<'a> {
    pub device: &'a str,
    pub tool: &'a str,
    pub arguments: Map<String, Value>,
    /// The caller's own token for this device. A secret.
    pub token: &'a str,
}

/// What the device answered.
pub struct FleetAnswer {
    pub result: Map<String, Value>,
    pub simulated: bool,
    /// What its `_meta.changed` says; [`Changed::No`] for a read.
    pub changed: Changed,
}

/// Which devices are halted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HaltTarget {
    All,
    Named(BTreeSet<String>),
}

#[derive(Serialize, JsonSchema)]
pub struct FleetHalt {
    /// Their agents confirmed by a signed status that they are halted.
    pub confirmed: BTreeSet<String>,
    /// They may not have heard it: off, or not connected.
    pub open: BTreeSet<String>,
}

/// How a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceHealth {
    Good,
    /// It reports a problem.
    Wrong,
    /// It does not know how it is.
    Unknown,
    /// Its last status is too old, or there is none.
    Silent,
}

impl DeviceHealth {
    pub const ALL: [Self; 4] = [Self::Good, Self::Wrong, Self::Unknown, Self::Silent];

    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
            Self::Silent => "silent",
        }
    }
}

/// One device, as its last signed status says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FleetDeviceState {
    pub name: String,
    pub health: DeviceHealth,
    /// What it runs; null if it never sent a status.
    pub version: Option<String>,
    /// The owner's tags and its own.
    pub tags: Vec<String>,
    /// A sentence each.
    pub problems: Vec<String>,
    /// Whether it refuses every change.
    pub halted: Option<bool>,
    /// Requests for approval that wait for a person.
    pub open_asks: Option<u64>,
    pub last_update: Option<FleetUpdate>,
    /// When the broker received its last status.
    #[schemars(extend("format" = "date-time"))]
    pub heard_at: Option<String>,
    pub simulated: Option<bool>,
}

/// The last update of a device, or the one that runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FleetUpdate {
    pub version: String,
    pub phase: String,
    pub reason: String,
}

/// A plan whose stages a person has signed.
#[derive(Serialize, JsonSchema)]
pub struct PlannedRollout {
    /// What fleet.apply_rollout takes: SHA-256 over plan, release and channel.
    pub plan_hash: String,
    pub version: String,
    pub channel: String,
    pub stages: Vec<PlannedStage>,
    /// It stops when so many percent of a stage failed.
    pub stop_failed_percent: u8,
    /// It stops when so many devices failed.
    pub stop_failed_count: u32,
    /// It stops when so many percent fell silent.
    pub stop_silent_percent: u8,
    /// The signed stages are valid until then.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: String,
}

#[derive(Serialize, JsonSchema)]
pub struct PlannedStage {
    /// The share of devices.
    pub percent: u8,
    /// Only devices of these rings; empty: all.
    pub rings: Vec<String>,
    /// So many devices must run the release for good before the soak begins.
    pub min_committed: u32,
    pub soak_minutes: u32,
}

/// A rollout that has begun.
#[derive(Serialize, JsonSchema)]
pub struct StartedRollout {
    pub plan_hash: String,
    /// Whether it had begun before.
    pub already: bool,
    /// Its stage, from 1.
    pub stage: usize,
    pub stages: usize,
}
