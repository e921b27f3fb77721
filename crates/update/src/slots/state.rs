//! What is recorded. Every struct keeps the fields it does not know ([`State::more`] and its like): what a newer version wrote is
//! still there when that version runs again.

use crate::{
    Slot,
    bundle::Digest,
    status::{Attempt, RestartPlan, SlotState},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Everything that must survive the loss of the data partition. Written as a whole, by [`super::Store`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub slots: Slots,
    /// The update that is neither committed nor given up.
    pub update: Option<Pending>,
    pub last_attempt: Option<Attempt>,
    /// No image with a smaller counter is installed. Only rises.
    pub counter_floor: u64,
    /// No image with a smaller counter is started again. Only rises.
    pub revoke_below: u64,
    /// Seconds since 1970: the newest `created` of a committed release. Only rises.
    pub committed_time: u64,
    /// What earlier versions raised when an install began, so it may lie in the future. Written for them, and never read.
    pub time_floor: u64,
    /// Versions that are not installed again by themselves; the newest last, at most [`State::MOST_BLOCKED`].
    pub blocked: Vec<Blocked>,
    /// The boot that ended, or is about to end, with a restart that was asked for.
    pub orderly: Option<Orderly>,
    /// When installs began, in milliseconds since 1970; the last day's.
    pub installs_ms: Vec<i64>,
    /// When restarts were asked for, likewise; the last hour's.
    pub reboots_ms: Vec<i64>,
    /// Roots of trust accepted beyond the image's, oldest first.
    pub roots: Vec<String>,
    /// Small things that survive the loss of the data partition: identity, hashes of tokens, network connections.
    pub kept: BTreeMap<String, Vec<u8>>,
    /// Both copies had been written, and neither could be read: what was recorded is lost. Stays in the record until the agent has settled a
    /// boot that began so: what is written before that (the crate `appliance`) must not make it look like a card from the factory.
    pub lost: bool,
    /// Fields of a newer version.
    pub more: Map<String, Value>,
    /// Fields of a newer version in `last_attempt`; they go with it.
    pub attempt_more: Map<String, Value>,
}

impl State {
    /// As many blocked versions are remembered.
    pub const MOST_BLOCKED: usize = 32;

    /// Blocks a version, and forgets the oldest one when there are too many.
    pub(super) fn block(&mut self, manifest: Digest, version: &str, reason: &str, by_person: bool) {
        self.unblock(Some(manifest));
        let (version, reason) = (version.into(), reason.into());
        self.blocked.push(Blocked { manifest, version, reason, by_person, more: Map::new() });
        let surplus = self.blocked.len().saturating_sub(Self::MOST_BLOCKED);
        self.blocked.drain(..surplus);
    }

    /// A person does not want what is armed or half written. It is not installed by itself again, and did not fail.
    pub fn taken_back(&mut self, update: &Pending, reason: &str) {
        if let Some(manifest) = update.manifest {
            self.block(manifest, &update.version, &reason[..reason.floor_char_boundary(1024)], true);
        }
    }

    /// What was committed is good.
    pub(super) fn unblock(&mut self, manifest: Option<Digest>) {
        self.blocked.retain(|blocked| Some(blocked.manifest) != manifest);
    }

    /// Replaces the last attempt: another one begins.
    pub(super) fn begin_attempt(&mut self, attempt: Attempt) {
        self.attempt_more.clear();
        self.last_attempt = Some(attempt);
    }
}

/// One record a slot.
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

/// What is known of a slot.
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
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Default for SlotRecord {
    fn default() -> Self {
        let state = SlotState::Unknown;
        Self { version: None, counter: None, manifest: None, state, note: None, barred: false, more: Map::new() }
    }
}

/// How far an update is, as recorded. Each is one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The target's head is, or is about to be, zero; blocks are being written.
    Writing,
    /// Every block is on the medium, the head excepted.
    Written,
    /// And was read back from it.
    Verified,
    /// The head is there; the boot chain is, or is about to be, told to try it.
    Armed,
    /// It was started and has not proved itself.
    Trial,
    /// It has; the boot chain is being told.
    Committing,
    /// It failed, the other slot runs and is being looked at: if that is offline as well, it was not the update's fault.
    RolledBack,
}

/// Why a slot is on trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    Install,
    /// Back to the other slot's version, which was good before.
    Rollback,
}

/// An update that is neither committed nor given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    #[serde(default)]
    pub kind: Kind,
    /// `None` for a rollback to a factory image.
    pub manifest: Option<Digest>,
    pub version: String,
    pub counter: u64,
    /// Seconds since 1970, the manifest's.
    #[serde(default)]
    pub created: u64,
    #[serde(default)]
    pub revoke_below: u64,
    pub target: Slot,
    pub stage: Stage,
    /// How often it was armed, [`super::MOST_ARMINGS`] at most.
    #[serde(default)]
    pub armings: u8,
    /// How often it was armed again because the power failed before the restart; not armings.
    #[serde(default)]
    pub lost: u8,
    /// The boot in which it was armed last.
    #[serde(default)]
    pub armed_in: Option<String>,
    /// Boot ids of its trials, newest last, four at most; `unknown` for one that left no trace.
    #[serde(default)]
    pub trials: Vec<String>,
    /// What the kernel had left of earlier boots when it was armed and when its trial began: not this trial's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Digest>,
    /// Why the trial that runs, or ran, has failed.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// When the machine restarts into it, once it is armed.
    #[serde(default, skip_serializing_if = "RestartPlan::waits")]
    pub restart: RestartPlan,
    /// A rollback that nobody asked for: the dead man's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// Bytes on the medium at the last checkpoint: for people. What is really there, hashes decide.
    #[serde(default)]
    pub done: u64,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A trial was found to have failed, before the restart that ended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub reason: String,
    /// Whether a person said so: then nothing the old slot shows changes it.
    #[serde(default)]
    pub by_person: bool,
    #[serde(default)]
    pub log_tail: Option<String>,
}

/// A version that is not installed again by itself; one that failed by nobody.
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

/// A restart that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orderly {
    /// The boot that it ends.
    pub boot_id: Option<String>,
    /// Whether it was to start the trial.
    pub trial: bool,
    pub reason: String,
}
