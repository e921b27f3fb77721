//! Effects shared by several rows of the table: giving a version up, and arming it again.

use super::{
    Act, MOST_ARMINGS, StateRecord, Step, TrialKind,
    arm::armed_once_more,
    write::{bounded, end_attempt},
};
use crate::{
    Slot,
    boot::Evidence,
    status::{Phase, SlotState},
};

/// The update is over: blocked, and its slot made unbootable. A failed rollback leaves its slot as it was. The other
/// slot is made the default first: a head is only zeroed when the default is another slot.
pub(super) fn give_up(state: &StateRecord, reason: &str, now_ms: i64) -> Step {
    let mut next = state.clone();
    let Some(update) = next.update.take() else { return Step::default() };
    let (target, mut after) = (update.target, Vec::new());
    if update.kind == TrialKind::Install {
        if let Some(manifest) = update.manifest {
            let by_person = update.verdict.as_ref().is_some_and(|verdict| verdict.by_person);
            next.block(manifest, &update.version, &bounded(reason), by_person);
        }
        let record = next.slots.of_mut(target);
        record.state = SlotState::Bad;
        record.barred = true;
        record.note = Some(bounded(reason));
        after.push(Act::ZeroHead(target));
    } else {
        let record = next.slots.of_mut(target);
        record.state = SlotState::Good;
        record.note = Some(bounded(reason));
    }
    next.orderly = None;
    end_attempt(&mut next, Phase::RolledBack, reason, now_ms);
    Step { before: vec![Act::Default(target.other())], state: Some(next), after }
}

/// Another trial without another download, if it was armed less than [`MOST_ARMINGS`] times; otherwise it is given up.
/// The boot chain forgets the last trial before the record does, or a chain that counts would show the new one as
/// spent.
pub(super) fn arm_again(state: &StateRecord, seen: &Evidence, reason: &str, now_ms: i64) -> Step {
    let Some(update) = &state.update else { return Step::default() };
    if update.armings >= MOST_ARMINGS {
        return give_up(state, &format!("{reason}; it was armed {MOST_ARMINGS} times"), now_ms);
    }
    let target = update.target;
    let mut next = armed_once_more(state, update.clone(), seen);
    if let Some(attempt) = &mut next.last_attempt {
        attempt.reason = bounded(reason);
    }
    Step { before: vec![Act::Default(target.other())], state: Some(next), after: Vec::new() }
}

/// Records a boot of the target, in the update and in the attempt.
pub(super) fn remember_trial(state: &mut StateRecord, seen: &Evidence) {
    let id = seen.boot_id.clone().unwrap_or_else(|| "unknown".into());
    let Some(update) = &mut state.update else { return };
    if seen.boot_id.is_some() && update.trials.last() == Some(&id) {
        return;
    }
    // One more than may be armed is enough to show the excess. A boot chain that lost its state can start the target
    // any number of times, and the record must not grow with each.
    newest(&mut update.trials, id.clone(), usize::from(MOST_ARMINGS) + 1);
    if let Some(attempt) = &mut state.last_attempt {
        newest(&mut attempt.boot_ids, id, usize::from(MOST_ARMINGS));
    }
}

/// Adds `id` to a list that keeps its newest `most`.
fn newest(ids: &mut Vec<String>, id: String, most: usize) {
    ids.push(id);
    ids.drain(..ids.len().saturating_sub(most));
}

/// What ended the trial's boot: the cause's name (`orderly` for a requested restart), and a sentence with it.
pub(super) fn cause(state: &StateRecord, seen: &Evidence) -> (String, String) {
    let last = state.update.as_ref().and_then(|update| update.trials.last());
    if let Some(asked) =
        state.orderly.as_ref().filter(|asked| !asked.trial && last.is_some() && asked.boot_id.as_ref() == last)
    {
        return ("orderly".into(), format!("a restart was asked for in the trial: {}", asked.reason));
    }
    let cause = seen.reset.map_or("unknown", |reset| reset.name());
    (cause.into(), format!("the trial ended without a verdict (reset: {cause})"))
}

/// Marks a slot good and clears what no longer applies.
pub(super) fn good(state: &mut StateRecord, slot: Slot) {
    let record = state.slots.of_mut(slot);
    record.state = SlotState::Good;
    record.note = None;
    record.barred = false;
}
