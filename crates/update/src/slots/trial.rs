//! The trial: a value that only [`super::settle`] creates, from evidence. Nothing is committed without one.

use super::{
    Act, FailedTrial, Stage, StateRecord, Step, TrialKind,
    last_words::tail,
    write::{at, bounded, end_attempt, stage},
};
use crate::{
    Slot,
    boot::Evidence,
    status::{Phase, SlotState},
};
use base::error::ToolError;

/// A running trial: the flag is set, boot files and root are the target's, and the record says that it is on trial.
#[derive(Debug, PartialEq, Eq)]
pub struct Trial {
    slot: Slot,
    boot_id: Option<String>,
}

impl Trial {
    pub(super) const fn new(slot: Slot, boot_id: Option<String>) -> Self {
        Self { slot, boot_id }
    }
    /// The slot on trial, which is running.
    pub const fn slot(&self) -> Slot {
        self.slot
    }
}

/// Step 9: the trial succeeded. Recorded first, then the boot chain is updated; after that, [`committed`]. `seen` is
/// the current evidence.
///
/// # Errors
/// `failed_precondition` when the evidence no longer shows this trial, or it was marked as failed.
pub fn commit(state: &StateRecord, trial: &Trial, seen: &Evidence) -> Result<Step, ToolError> {
    let slot = trial.slot;
    let flagged = seen.trial == Some(true) && seen.booted == Some(slot) && seen.root == Some(slot);
    let chain = seen.default == Some(slot.other()) && seen.armed == Some(slot);
    if !flagged || !chain || seen.boot_id != trial.boot_id {
        return Err(ToolError::precondition(format!("slot {slot} is not on trial as far as the boot chain tells"))
            .with("evidence", format!("{seen:?}"))
            .hint("restart: the old version starts, and the update is armed again"));
    }
    let step = stage(state, &[Stage::Trial, Stage::Committing], |update| update.stage = Stage::Committing)?;
    let ours = state.update.as_ref().is_some_and(|update| update.target == slot && update.verdict.is_none());
    if !ours {
        return Err(ToolError::precondition(format!("the trial of slot {slot} was found to have failed"))
            .hint("restart: the old version starts"));
    }
    Ok(Step { after: vec![Act::Default(slot)], ..step })
}

/// Step 10, once the boot chain names the slot, and never before: the floors rise. Slots below `revoke_below` are made
/// unbootable. Repeated at the next boot after an interruption.
///
/// # Errors
/// `failed_precondition` unless it is committing, running, and the default.
pub fn committed(state: &StateRecord, seen: &Evidence, now_ms: i64) -> Result<Step, ToolError> {
    let slot = Some(at(state, &[Stage::Committing])?.target);
    if seen.running() != slot || seen.default != slot {
        return Err(ToolError::precondition("the boot chain does not name the slot that was on trial")
            .with("evidence", format!("{seen:?}"))
            .hint("commit it again, or restart"));
    }
    Ok(finish(state, now_ms))
}

/// Makes the slot of the pending update the committed one.
pub(super) fn finish(state: &StateRecord, now_ms: i64) -> Step {
    let mut next = state.clone();
    let Some(update) = next.update.take() else { return Step::default() };
    let (slot, old) = (update.target, update.target.other());
    let reason = next.last_attempt.as_ref().map(|attempt| attempt.reason.clone()).unwrap_or_default();
    if update.kind == TrialKind::Install {
        next.counter_floor = next.counter_floor.max(update.counter);
        next.revoke_below = next.revoke_below.max(update.revoke_below);
        next.committed_time = next.committed_time.max(update.created);
        next.time_floor = next.committed_time;
        end_attempt(&mut next, Phase::Committed, "", now_ms);
    } else {
        let left = next.slots.of(old).clone();
        if let Some(manifest) = left.manifest {
            let version = left.version.as_deref().unwrap_or("unknown");
            next.block(manifest, version, &format!("rolled back: {reason}"), !update.by_itself);
        }
        end_attempt(&mut next, Phase::Committed, &reason, now_ms);
    }
    next.unblock(update.manifest);
    let record = next.slots.of_mut(slot);
    record.version = Some(update.version);
    record.counter = Some(update.counter);
    record.manifest = update.manifest;
    record.state = SlotState::Good;
    record.note = None;
    record.barred = false;
    record.channel_reached = false;
    let mut after = Vec::new();
    let below = next.revoke_below;
    let record = next.slots.of_mut(old);
    if record.counter.unwrap_or(0) < below {
        record.state = SlotState::Bad;
        record.barred = true;
        record.note = Some(format!("revoked: its counter is below {below}"));
        after.push(Act::ZeroHead(old));
    }
    after.push(Act::ClearCount);
    if update.kind == TrialKind::Install {
        // An agent that knows no such count may have installed it.
        after.push(Act::ClearDamage(slot));
    }
    next.orderly = None;
    Step { before: Vec::new(), state: Some(next), after }
}

/// The trial failed, or a person rejects it: recorded before the plain restart that ends it. Of `log_tail`, the log's last
/// lines, [`LONGEST_LOG`](super::LONGEST_LOG) bytes are kept. A person's reason is kept even if the deadline
/// passes later.
///
/// # Errors
/// `failed_precondition` when no trial is running.
pub fn condemn(state: &StateRecord, trial: &Trial, failed: FailedTrial) -> Result<Step, ToolError> {
    let slot = trial.slot;
    if state.update.as_ref().is_some_and(|update| update.target != slot) {
        return Err(
            ToolError::precondition(format!("slot {slot} is not what is on trial")).hint("ask for the update's status")
        );
    }
    stage(state, &[Stage::Trial], |update| {
        if failed.by_person || !update.verdict.as_ref().is_some_and(|verdict| verdict.by_person) {
            let (reason, log_tail) = (bounded(&failed.reason), failed.log_tail.as_deref().map(tail));
            update.verdict = Some(FailedTrial { reason, log_tail, ..failed });
        }
    })
}
