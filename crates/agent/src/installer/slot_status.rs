//! The agent's status of updates, in the shared types.

use super::System;
use update::{
    Slot,
    boot::Evidence,
    slots::{self, Blocked, BootState, PendingUpdate, Stage, StateRecord, clock},
    status::{BlockedRelease, SlotState, SlotStatus, UpdateStatus},
};

impl System {
    /// The current status. Reads the card: call it where blocking is allowed.
    pub fn status(&self, seconds_left: Option<u64>) -> UpdateStatus {
        let trouble = trouble(&self.standing());
        let ledger = self.record.ledger();
        let (state, seen) = (ledger.state(), ledger.evidence());
        let mut faults: Vec<String> = ledger.faults().iter().chain(&seen.faults).cloned().collect();
        faults.extend(trouble);
        UpdateStatus {
            flow: self.card.flow.name().into(),
            slots: Slot::BOTH.into_iter().map(|slot| of_slot(slot, state, &seen)).collect(),
            last_attempt: state.last_attempt.clone(),
            counter_floor: update::slots::floor(state, self.record.running_counter),
            time_floor: clock::floor(state, self.machine.built),
            trial_seconds_left: seconds_left,
            restart: state.update.as_ref().filter(|update| update.stage == Stage::Armed).map(|update| update.restart),
            waits_for: state.update.as_ref().map(|update| update.waits_for.names()).unwrap_or_default(),
            channel_reached: slots::has_reached_channel(state, &seen),
            service_changes: state.update.as_ref().map(|update| update.services.clone()).unwrap_or_default(),
            layout: self.card.layout.clone(),
            hardware: self.card.hardware.clone(),
            blocked: state.blocked.iter().map(blocked_release).chain(state.update.as_ref().and_then(judged)).collect(),
            faults,
            simulated: self.settings.simulated,
        }
    }
}

/// A block, in the shared type.
pub(crate) fn blocked_release(blocked: &Blocked) -> BlockedRelease {
    BlockedRelease {
        version: blocked.version.clone(),
        manifest_sha256: blocked.manifest.to_string(),
        reason: blocked.reason.clone(),
        by_person: blocked.by_person,
    }
}

/// A release that failed its trial, while the cause is still open: it must not be installed meanwhile.
fn judged(update: &PendingUpdate) -> Option<BlockedRelease> {
    let why = update.verdict.as_ref().map_or("its trial failed", |verdict| &verdict.reason);
    Some(BlockedRelease {
        version: update.version.clone(),
        manifest_sha256: update.manifest.filter(|_| update.stage == Stage::RolledBack)?.to_string(),
        reason: format!("{why} (whether this system does any better is being found out)"),
        by_person: false,
    })
}

fn of_slot(slot: Slot, state: &StateRecord, seen: &Evidence) -> SlotStatus {
    let record = state.slots.of(slot);
    let running = seen.running() == Some(slot);
    // An armed slot is next, if the boot chain will start it.
    let next = if record.state == SlotState::Armed { seen.armed == Some(slot) } else { seen.default == Some(slot) };
    let armed_other = state.slots.of(slot.other()).state == SlotState::Armed && seen.armed == Some(slot.other());
    SlotStatus {
        slot,
        state: record.state,
        running,
        next: next && !armed_other,
        version: record.version.clone(),
        counter: record.counter,
        note: record.note.clone(),
    }
}

/// What needs a person's attention.
fn trouble(standing: &BootState) -> Option<String> {
    match standing {
        BootState::Elsewhere => Some("this system runs from neither slot".into()),
        BootState::Halves => Some("boot files and root are of different slots".into()),
        BootState::Walked => {
            Some("the boot chain passed its default slot over; once healthy, the running slot becomes it".into())
        }
        BootState::Unrecorded => {
            Some("nothing is recorded of the running slot: manage.mark_good makes it the default".into())
        }
        BootState::Restart(why) => Some(format!("the machine has to restart: {why}")),
        BootState::Normal | BootState::Interrupted | BootState::Armed | BootState::Trial(_) | BootState::RolledBack => {
            None
        }
    }
}
