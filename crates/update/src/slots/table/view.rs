//! Maps evidence and record to the table's columns.

use super::{ValueSet, View, flag, place, recorded, since};
use crate::{
    Slot,
    boot::Evidence,
    slots::{Stage, StateRecord},
    status::SlotState,
};

impl View {
    /// The columns for this evidence and record.
    pub fn of(state: &StateRecord, seen: &Evidence) -> Self {
        let running = seen.running().or(seen.root);
        let target = state.update.as_ref().map(|update| update.target).or_else(|| running.map(Slot::other));
        let place = |slot: Option<Slot>| match slot {
            None => place::NONE,
            Some(slot) if Some(slot) == target => place::T,
            Some(_) => place::O,
        };
        Self {
            flag: if seen.trial == Some(true) { flag::YES } else { flag::NO },
            booted: place(seen.booted),
            root: place(seen.root),
            default: place(named(state, seen, running)),
            recorded: record(state, running),
            since: when(state, seen),
        }
    }
}

/// The default that the boot chain names. A chain that counts names the other slot once the boots of its default are
/// spent; without a trial, that slot was the default and did not start.
fn named(state: &StateRecord, seen: &Evidence, running: Option<Slot>) -> Option<Slot> {
    let spent = |slot: &Slot| seen.tries.is_some_and(|tries| tries.of(*slot) == 0);
    let passed_over = seen.armed.filter(|slot| state.update.is_none() && Some(*slot) != running && spent(slot));
    passed_over.or(seen.default)
}

fn record(state: &StateRecord, running: Option<Slot>) -> ValueSet {
    use recorded::{ARMED, BAD, COMMITTING, GOOD, LOST, ROLLED_BACK, TRIAL, UNKNOWN, WRITING};
    match state.update.as_ref().map(|update| update.stage) {
        Some(Stage::Writing | Stage::Written | Stage::Verified) => WRITING,
        Some(Stage::Armed) => ARMED,
        Some(Stage::Trial) => TRIAL,
        Some(Stage::Committing) => COMMITTING,
        Some(Stage::RolledBack) => ROLLED_BACK,
        None if state.lost => LOST,
        None => match running.map(|slot| state.slots.of(slot).state) {
            Some(SlotState::Good) => GOOD,
            Some(SlotState::Unknown) | None => UNKNOWN,
            Some(_) => BAD,
        },
    }
}

fn when(state: &StateRecord, seen: &Evidence) -> ValueSet {
    let Some(update) = &state.update else { return since::NOW };
    let this = |id: Option<&String>| id.is_some() && id == seen.boot_id.as_ref();
    if update.stage != Stage::Armed {
        return if this(update.trials.last()) { since::NOW } else { since::TRIED };
    }
    if this(update.armed_in.as_ref()) {
        return since::NOW;
    }
    let asked = state.orderly.as_ref().is_some_and(|orderly| orderly.trial);
    // A chain that counts is more reliable than the marker, unless it lost its state.
    let counted = seen.tries.map(|tries| (seen.armed == Some(update.target), tries.of(update.target)));
    let tried = match counted {
        Some((true, left)) => left == 0,
        Some((false, _)) => asked,
        // Only a restart with the firmware's argument starts a trial, and its marker is written before it. Whatever else ended the
        // boot (no power, a button, the watchdog), it was not the trial.
        None => asked,
    };
    if tried { since::TRIED } else { since::UNTRIED }
}
