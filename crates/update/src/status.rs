//! The status of the slots and of an update, in types shared by the agent, the tools and the console.

use super::{
    Slot,
    bundle::{Digest, ServiceChanges},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotState {
    /// It was started and found healthy, or came so from the factory.
    Good,
    /// An update is being written into it: it cannot be started.
    Writing,
    /// Whole, and next to be tried.
    Armed,
    /// Running, and not yet found healthy.
    Trial,
    /// Cannot be started, or must not be.
    Bad,
    /// Nothing is known of it.
    Unknown,
}

/// One of the two systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotStatus {
    pub slot: Slot,
    pub state: SlotState,
    /// Whether the machine runs from it now.
    pub running: bool,
    /// Whether the machine starts from it next time.
    pub next: bool,
    pub version: Option<String>,
    pub counter: Option<u64>,
    /// More for a person: why it is bad, say.
    pub note: Option<String>,
}

/// How far an update is, or how far the last one came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its signatures, its hardware, its place are being checked.
    Checking,
    /// Blocks that are here already are being found.
    Comparing,
    /// Missing blocks are being fetched.
    Fetching,
    /// Blocks are being written.
    Writing,
    /// What was written is being read back.
    Verifying,
    /// The new slot is next; the machine has not restarted yet.
    Armed,
    /// The new slot runs and has to prove itself.
    Trial,
    /// It has; it is what starts from now on.
    Committed,
    /// It failed, and the old slot runs.
    RolledBack,
    /// It failed before anything was tried.
    Failed,
}

/// When the machine restarts into a release, once that is armed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestartPlan {
    /// When somebody orders it, or with another restart through raspi-mcp (`system.reboot`).
    #[default]
    Waits,
    /// By itself, as soon as the limit of restarts lets it.
    Soon,
    /// The same, while `update.window` is open.
    InWindow,
}

impl RestartPlan {
    /// Whether no restart is planned.
    pub fn waits(&self) -> bool {
        *self == Self::Waits
    }
}

/// The last update that was tried, kept through restarts and power cuts until the next one begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    pub version: String,
    pub counter: u64,
    /// SHA-256 of the manifest.
    pub manifest_sha256: String,
    pub target: Slot,
    /// How far it came.
    pub phase: Phase,
    /// Why it ended, and what to do; empty while it goes on.
    pub reason: String,
    /// What restarted the machine out of the trial, as far as that is known.
    pub reset_cause: Option<String>,
    /// The kernel's boot ids of its trials, newest last; at most three.
    pub boot_ids: Vec<String>,
    /// The last lines of the failed trial's log, where some were found; at most 4 KiB.
    pub log_tail: Option<String>,
    /// Milliseconds since 1970, by this machine's clock.
    pub started_ms: i64,
    pub finished_ms: Option<i64>,
}

/// A release that failed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockedRelease {
    pub version: String,
    /// SHA-256 of its manifest.
    pub manifest_sha256: String,
    pub reason: String,
    /// It did not fail: a person took it back. It is not installed by itself, and a person may have it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
}

/// All the agent says of updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateStatus {
    /// How the board chooses its slot: tryboot, uboot, custom, simulated.
    pub flow: String,
    pub slots: Vec<SlotStatus>,
    pub last_attempt: Option<Attempt>,
    /// No image with a smaller counter is installed.
    pub counter_floor: u64,
    /// Seconds since 1970: it is not earlier than this.
    pub time_floor: u64,
    /// Seconds a running trial has left to prove itself.
    pub trial_seconds_left: Option<u64>,
    /// While a release is armed: when the machine restarts into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartPlan>,
    /// The armed release failed its trial for what this system lacks as well, and is tried again once that works: the network, services,
    /// commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// The running version has reached its channel since it was committed: the dead man's switch is off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub channel_reached: bool,
    /// The services that the update under way drops, renames and adds, as its manifest says: what its trial expects follows from them.
    #[serde(default, skip_serializing_if = "ServiceChanges::is_empty")]
    pub service_changes: ServiceChanges,
    /// The partition layout of this card, and the compatibles of this board: what a release has to be made for.
    pub layout: String,
    pub hardware: Vec<String>,
    /// Releases that failed here too often, and are not tried again by themselves.
    pub blocked: Vec<BlockedRelease>,
    /// What was found wrong: a torn record, a slot that the boot chain passed over.
    pub faults: Vec<String>,
    pub simulated: bool,
}

impl UpdateStatus {
    /// The armed release.
    pub fn armed(&self) -> Option<&Attempt> {
        self.last_attempt.as_ref().filter(|attempt| attempt.phase == Phase::Armed)
    }

    /// Whether the release with that manifest is armed, so that only a restart is missing.
    pub fn is_armed(&self, manifest: &Digest) -> bool {
        self.armed().is_some_and(|attempt| attempt.manifest_sha256 == manifest.to_string())
    }
}
