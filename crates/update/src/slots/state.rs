//! The record. Every struct keeps fields that it does not know ([`StateRecord::more`] and similar), so that a newer version
//! finds its own again.

use crate::{
    Slot,
    bundle::{Digest, ServiceChanges},
    health::Missing,
    status::{Attempt, RestartPlan, SlotState},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Most roots of trust kept beyond the image's; an image that is further behind brings newer ones itself.
pub const MOST_ROOTS: usize = 64;

/// All state that must survive the loss of the data partition. Written as a whole, by [`super::StateStore`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateRecord {
    pub slots: Slots,
    /// The update that is neither committed nor given up.
    pub update: Option<PendingUpdate>,
    pub last_attempt: Option<Attempt>,
    /// No image with a smaller counter is installed. Only rises.
    pub counter_floor: u64,
    /// No image with a smaller counter is started again. Only rises.
    pub revoke_below: u64,
    /// Seconds since 1970: the newest `created` of a committed release. Only rises.
    pub committed_time: u64,
    /// Raised by earlier versions when an install began, so it may lie in the future. Written for them, never read.
    pub time_floor: u64,
    /// Versions that are not installed again automatically; the newest last, at most [`StateRecord::MOST_BLOCKED`].
    pub blocked: Vec<Blocked>,
    /// The boot that ended, or is about to end, with a requested restart.
    pub orderly: Option<Orderly>,
    /// When installs began, in milliseconds since 1970; the last day's.
    pub installs_ms: Vec<i64>,
    /// When restarts were requested, likewise; the last hour's.
    pub reboots_ms: Vec<i64>,
    /// Roots of trust accepted beyond the image's, oldest first; at most [`MOST_ROOTS`].
    pub roots: Vec<String>,
    /// Small data that survives the loss of the data partition: identity, hashes of tokens, network connections.
    pub kept: BTreeMap<String, Vec<u8>>,
    /// Both copies had been written, and neither could be read: the record is lost. Stays set until the agent has
    /// settled a boot that began so: earlier writes (by the crate `appliance`) must not make it look like a card from
    /// the factory.
    pub lost: bool,
    /// Fields of a newer version.
    pub more: Map<String, Value>,
    /// Fields of a newer version in `last_attempt`; removed with it.
    pub attempt_more: Map<String, Value>,
}

impl StateRecord {
    /// Limit of remembered blocked versions.
    pub const MOST_BLOCKED: usize = 32;

    /// Blocks a version, and drops the oldest beyond the limit.
    pub(super) fn block(&mut self, manifest: Digest, version: &str, reason: &str, by_person: bool) {
        self.unblock(Some(manifest));
        let (version, reason) = (version.into(), reason.into());
        self.blocked.push(Blocked { manifest, version, reason, by_person, more: Map::new() });
        let surplus = self.blocked.len().saturating_sub(Self::MOST_BLOCKED);
        self.blocked.drain(..surplus);
    }

    /// A person took back what is armed or half written. It did not fail, but is not installed again automatically.
    pub fn taken_back(&mut self, update: &PendingUpdate, reason: &str) {
        if let Some(manifest) = update.manifest {
            self.block(manifest, &update.version, &reason[..reason.floor_char_boundary(1024)], true);
        }
    }

    /// Unblocks a committed version.
    pub(super) fn unblock(&mut self, manifest: Option<Digest>) {
        self.blocked.retain(|blocked| Some(blocked.manifest) != manifest);
    }

    /// Replaces the last attempt when another one begins.
    pub(super) fn begin_attempt(&mut self, attempt: Attempt) {
        self.attempt_more.clear();
        self.last_attempt = Some(attempt);
    }
}

/// One record per slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slots {
    #[serde(rename = "A", default)]
    pub a: SlotRecord,
    #[serde(rename = "B", default)]
    pub b: SlotRecord,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Slots {
    pub const fn of(&self, slot: Slot) -> &SlotRecord {
        match slot {
            Slot::A => &self.a,
            Slot::B => &self.b,
        }
    }
    pub const fn of_mut(&mut self, slot: Slot) -> &mut SlotRecord {
        match slot {
            Slot::A => &mut self.a,
            Slot::B => &mut self.b,
        }
    }
}

/// The record of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotRecord {
    pub version: Option<String>,
    pub counter: Option<u64>,
    pub manifest: Option<Digest>,
    pub state: SlotState,
    pub note: Option<String>,
    /// Must not be started: its head is zeroed, now or at the next boot that can.
    pub barred: bool,
    /// Its version has reached its channel since it was committed (`update.dead_man_hours`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub channel_reached: bool,
    /// What its release changed, for the way back from it.
    #[serde(skip_serializing_if = "ServiceChanges::is_empty")]
    pub services: ServiceChanges,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Default for SlotRecord {
    fn default() -> Self {
        let (state, more) = (SlotState::Unknown, Map::new());
        Self {
            version: None,
            counter: None,
            manifest: None,
            state,
            note: None,
            barred: false,
            channel_reached: false,
            services: ServiceChanges::default(),
            more,
        }
    }
}

/// The recorded progress of an update. Each stage is one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The target's head is zero, or about to be; blocks are being written.
    Writing,
    /// Every block is on the medium except the head.
    Written,
    /// Everything was read back from the medium.
    Verified,
    /// The head is written; the boot chain is armed, or about to be.
    Armed,
    /// It was started and is on trial.
    Trial,
    /// The trial succeeded; the boot chain is being updated.
    Committing,
    /// It failed; the other slot runs and is being checked: if that is offline as well, the update was not at fault.
    RolledBack,
}

/// Why a slot is on trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    #[default]
    Install,
    /// A rollback to the other slot's version, which was good before.
    Rollback,
}

/// An update that is neither committed nor given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "struct Pending")]
pub struct PendingUpdate {
    #[serde(default)]
    pub kind: TrialKind,
    /// `None` for a rollback to a factory image.
    pub manifest: Option<Digest>,
    pub version: String,
    pub counter: u64,
    /// Seconds since 1970, from the manifest.
    #[serde(default)]
    pub created: u64,
    #[serde(default)]
    pub revoke_below: u64,
    pub target: Slot,
    pub stage: Stage,
    /// How often it was armed, at most [`super::MOST_ARMINGS`].
    #[serde(default)]
    pub armings: u8,
    /// How often it was armed again because of a power failure before the restart; not counted as armings.
    #[serde(default)]
    pub lost: u8,
    /// Its trial failed for what the old system lacks as well. It is tried again once that works; until then no restart goes into it.
    #[serde(default, skip_serializing_if = "Missing::is_empty")]
    pub waits_for: Missing,
    /// How many trials ended so; not counted as armings, at most [`super::MOST_EXCUSED_TRIALS`].
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    pub excused_trials: u8,
    /// The boot in which it was armed last.
    #[serde(default)]
    pub armed_in: Option<String>,
    /// Boot ids of its trials, newest last, four at most; `unknown` for one that left no trace.
    #[serde(default)]
    pub trials: Vec<String>,
    /// Hashes of the crash messages that existed when it was armed and when its trial began: not from this trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Digest>,
    /// Why the running or last trial failed.
    #[serde(default)]
    pub verdict: Option<FailedTrial>,
    /// When the machine restarts into it, once it is armed.
    #[serde(default, skip_serializing_if = "RestartPlan::waits")]
    pub restart: RestartPlan,
    /// An automatic rollback, by the dead man's switch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// The services that its trial expects besides those of before, or does not expect.
    #[serde(default, skip_serializing_if = "ServiceChanges::is_empty")]
    pub services: ServiceChanges,
    /// Bytes on the medium at the last checkpoint, for people. Hashes decide what is present.
    #[serde(default)]
    pub done: u64,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl PendingUpdate {
    /// Whether a restart may go into it.
    pub fn may_start(&self) -> bool {
        self.stage == Stage::Armed && self.waits_for.is_empty()
    }
}

/// A trial was found to have failed, before the restart that ended it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Verdict")]
pub struct FailedTrial {
    pub reason: String,
    /// Whether a person decided so: then the state of the old slot does not change it.
    #[serde(default)]
    pub by_person: bool,
    /// What was wrong.
    #[serde(default, skip_serializing_if = "Missing::is_empty")]
    pub missing: Missing,
    #[serde(default)]
    pub log_tail: Option<String>,
}

/// A version that is not installed again automatically. One that failed is not installed at all; one that a person took
/// back (`by_person`) is installed if a person asks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    pub manifest: Digest,
    pub version: String,
    pub reason: String,
    /// It did not fail: a person took it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A requested restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orderly {
    /// The boot that it ends.
    pub boot_id: Option<String>,
    /// Whether it was to start the trial.
    pub trial: bool,
    pub reason: String,
}
