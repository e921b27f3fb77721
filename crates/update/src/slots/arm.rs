//! Step 7 and its repetitions: arming, restarting, arming again, and an operator's rollback, which is an ordinary
//! trial.

use super::{
    Act, MOST_ARMINGS, MOST_EXCUSED_TRIALS, Orderly, PendingUpdate, SlotRecord, Stage, StateRecord, Step, TrialKind,
    UpdateLimits, effects,
    last_words::hear,
    limits,
    write::{at, bounded, set_phase, stage},
};
use crate::{
    boot::Evidence,
    bundle::ServiceChanges,
    health::Missing,
    status::{Attempt, Phase, RestartPlan, SlotState},
};
use base::error::ToolError;
use serde_json::Map;

/// The head is written: the target may be tried. The boot chain learns of it with the restart into it ([`restarting`]): whatever else
/// restarts the machine starts the old slot.
///
/// # Errors
/// `failed_precondition` unless it was being written (everything must have been read back), and when it was armed
/// [`MOST_ARMINGS`] times already.
pub fn arm(state: &StateRecord, seen: &Evidence) -> Result<Step, ToolError> {
    let update = at(state, &[Stage::Writing, Stage::Written, Stage::Verified])?;
    if update.armings >= MOST_ARMINGS {
        return Err(ToolError::precondition(format!("version {} was armed {MOST_ARMINGS} times", update.version))
            .hint("install another version"));
    }
    Ok(Step::to(armed_once_more(state, update.clone(), seen)))
}

/// `state` with `update` armed once more, which is counted.
pub(super) fn armed_once_more(state: &StateRecord, mut update: PendingUpdate, seen: &Evidence) -> StateRecord {
    update.armings += 1;
    update.waits_for = Missing::default();
    armed_record(state, update, seen)
}

fn armed_record(state: &StateRecord, mut update: PendingUpdate, seen: &Evidence) -> StateRecord {
    let target = armed(&mut update, seen);
    let mut next = StateRecord { update: Some(update), ..state.clone() };
    let record = next.slots.of_mut(target);
    record.state = SlotState::Armed;
    record.barred = false;
    next.orderly = None;
    set_phase(&mut next, Phase::Armed);
    next
}

/// `state` with `update` armed, and no restart into it until what is `missing` works. The trial that failed does not count.
fn wait_for(state: &StateRecord, mut update: PendingUpdate, missing: Missing, seen: &Evidence, reason: &str) -> Step {
    update.excused_trials += 1;
    update.waits_for = missing;
    update.trials.pop();
    let old = update.target.other();
    let mut next = armed_record(state, update, seen);
    if let Some(attempt) = &mut next.last_attempt {
        attempt.reason = bounded(reason);
    }
    Step { before: vec![Act::Default(old)], state: Some(next), after: Vec::new() }
}

/// Sets the stage; returns the target.
fn armed(update: &mut PendingUpdate, seen: &Evidence) -> crate::Slot {
    update.stage = Stage::Armed;
    update.armed_in.clone_from(&seen.boot_id);
    update.verdict = None;
    update.heard.clear();
    hear(update, seen);
    update.target
}

/// Ends the wait for what was missing: a restart may go into the armed slot. Does not count as an arming.
///
/// # Errors
/// `failed_precondition` unless an update is armed.
pub fn end_wait(state: &StateRecord) -> Result<Step, ToolError> {
    let update = at(state, &[Stage::Armed])?;
    if update.waits_for.is_empty() {
        return Ok(Step::default());
    }
    stage(state, &[Stage::Armed], |update| update.waits_for = Missing::default())
}

/// Sets when the machine restarts into the armed slot; `why` is for `last_attempt` (empty: nothing to report).
///
/// # Errors
/// `failed_precondition` unless an update is armed.
pub fn plan_restart(state: &StateRecord, restart: RestartPlan, why: &str) -> Result<Step, ToolError> {
    let step = stage(state, &[Stage::Armed], |update| update.restart = restart)?;
    let mut next = step.state.unwrap_or_else(|| state.clone());
    if let Some(attempt) = &mut next.last_attempt {
        attempt.reason = bounded(why);
    }
    Ok(if next == *state { Step::default() } else { Step::to(next) })
}

/// The marker of a requested restart, written before it: without it the next boot could not distinguish a lost flag
/// from a crashed trial. `trial` says whether it goes into the armed slot: then the boot chain is told of that slot, after the marker.
///
/// # Errors
/// `resource_exhausted` beyond the agent's limit of restarts an hour; `failed_precondition` for a trial that is not
/// armed, or waits for something that the old system lacks as well.
pub fn restarting(
    state: &StateRecord,
    seen: &Evidence,
    trial: bool,
    reason: &str,
    limits: UpdateLimits,
    now_ms: i64,
) -> Result<Step, ToolError> {
    let mut after = Vec::new();
    if trial {
        let update = at(state, &[Stage::Armed])?;
        if !update.waits_for.is_empty() {
            let missing = update.waits_for.names().join(", ");
            return Err(ToolError::precondition(format!(
                "version {} waits until this works: {missing}",
                update.version
            ))
            .hint("mend that, or order the update again: manage.update_server"));
        }
        after.push(Act::Arm(update.target));
    }
    let mut next = state.clone();
    next.reboots_ms = limits::reboot(limits, &state.reboots_ms, now_ms)?;
    next.orderly = Some(Orderly { boot_id: seen.boot_id.clone(), trial, reason: bounded(reason) });
    Ok(Step { after, ..Step::to(next) })
}

/// The old system, as it is found after a failed trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldSystem {
    /// Something that was missing in the trial works here.
    Online,
    /// Its network is missing, whatever else is.
    Offline,
    /// All that was missing in the trial is missing here as well.
    FailsAlike,
    /// Its server half did not report.
    Silent,
}

impl OldSystem {
    /// By what it lacks now, and what the trial lacked.
    pub fn compared(now: &Missing, trial: &Missing) -> Self {
        match now {
            _ if now.network => Self::Offline,
            _ if trial.is_missing_in(now) => Self::FailsAlike,
            _ => Self::Online,
        }
    }
}

/// After a failed trial the old slot was checked. If it is offline as well, or lacks all that the trial lacked, the update was not at
/// fault: it waits until that works, which does not count as an arming (beyond [`MOST_EXCUSED_TRIALS`](super::MOST_EXCUSED_TRIALS) it does). If nothing is known of it, the update is armed again, at most
/// [`MOST_ARMINGS`] times in all; so it is if the trial lacked nothing but the network, which may have come back since. Otherwise the
/// version is blocked and its slot made unbootable.
///
/// # Errors
/// `failed_precondition` unless a failed trial waits for this.
pub fn judge_old(state: &StateRecord, seen: &Evidence, old: OldSystem, now_ms: i64) -> Result<Step, ToolError> {
    let update = at(state, &[Stage::RolledBack])?;
    let reason = update.verdict.as_ref().map(|verdict| verdict.reason.clone());
    let reason = reason.unwrap_or_else(|| "its trial failed".into());
    let lacked = update.verdict.as_ref().map(|verdict| verdict.missing.clone()).unwrap_or_default();
    Ok(match old {
        OldSystem::Online if lacked.is_only_network() => {
            effects::arm_again(state, seen, &format!("{reason}; the old version has a network"), now_ms)
        }
        OldSystem::Online => effects::give_up(state, &reason, now_ms),
        OldSystem::Offline if update.excused_trials < MOST_EXCUSED_TRIALS => wait_for(
            state,
            update.clone(),
            Missing::network(),
            seen,
            &format!("{reason}; the old version is offline as well: it is tried again once there is a network"),
        ),
        OldSystem::FailsAlike if update.excused_trials < MOST_EXCUSED_TRIALS => wait_for(
            state,
            update.clone(),
            lacked,
            seen,
            &format!("{reason}; the same fails in the old version: it is tried again once that works"),
        ),
        OldSystem::Offline => {
            effects::arm_again(state, seen, &format!("{reason}; the old version is offline as well"), now_ms)
        }
        OldSystem::FailsAlike => {
            effects::arm_again(state, seen, &format!("{reason}; the same fails in the old version"), now_ms)
        }
        OldSystem::Silent => {
            effects::arm_again(state, seen, &format!("{reason}; the old version's server did not report"), now_ms)
        }
    })
}

/// Returns to the version of the other slot, as an ordinary trial. `reason` is for `last_attempt`.
///
/// # Errors
/// `failed_precondition` while an update is under way (a running trial is ended by [`super::condemn`]), and when the
/// other slot is not known to be good, or is below `revoke_below`.
pub fn roll_back(state: &StateRecord, seen: &Evidence, reason: &str, now_ms: i64) -> Result<Step, ToolError> {
    if let Some(update) = &state.update {
        return Err(ToolError::precondition(format!("the update to version {} is not over", update.version))
            .hint("a trial that runs ends by rolling it back; one that is armed or being written is replaced by another install"));
    }
    let running = seen.running().filter(|running| seen.default == Some(*running));
    let running = running.ok_or_else(|| {
        ToolError::precondition("the boot chain does not have the running slot as its default")
            .hint("wait until the running slot has been found healthy")
    })?;
    let target = running.other();
    let record = state.slots.of(target);
    // From the factory both slots are equal: nothing is recorded of the other one, but it starts.
    let startable = matches!(record.state, SlotState::Good | SlotState::Unknown) && !record.barred;
    if !startable {
        let why = record.note.clone().unwrap_or_else(|| "nothing that can be started".into());
        return Err(ToolError::precondition(format!("slot {target} holds nothing to go back to: {why}"))
            .hint("install the version you want"));
    }
    if record.counter.unwrap_or(0) < state.revoke_below {
        return Err(ToolError::precondition(format!("slot {target} holds a version that was revoked"))
            .with("revoke_below", state.revoke_below)
            .hint("install a newer version"));
    }
    let version = record.version.clone().unwrap_or_else(|| "factory".into());
    let (counter, manifest) = (record.counter.unwrap_or(0), record.manifest);
    let services = on_the_way(state.slots.of(running), record);
    let mut next = state.clone();
    next.orderly = None;
    let mut update = PendingUpdate {
        kind: TrialKind::Rollback,
        manifest,
        version: version.clone(),
        counter,
        created: 0,
        revoke_below: 0,
        target,
        stage: Stage::Armed,
        armings: 1,
        lost: 0,
        waits_for: Missing::default(),
        excused_trials: 0,
        armed_in: None,
        trials: Vec::new(),
        heard: Vec::new(),
        verdict: None,
        restart: RestartPlan::Soon,
        by_itself: false,
        services,
        done: 0,
        more: Map::new(),
    };
    armed(&mut update, seen);
    next.update = Some(update);
    next.slots.of_mut(target).state = SlotState::Armed;
    next.begin_attempt(Attempt {
        version,
        counter,
        manifest_sha256: manifest.map(|manifest| manifest.to_string()).unwrap_or_default(),
        target,
        phase: Phase::Armed,
        reason: bounded(reason),
        reset_cause: None,
        boot_ids: Vec::new(),
        log_tail: None,
        started_ms: now_ms,
        finished_ms: None,
    });
    Ok(Step::to(next))
}

/// What changes from the system of one slot to that of the other, which is the release before or after it.
fn on_the_way(from: &SlotRecord, to: &SlotRecord) -> ServiceChanges {
    if to.counter > from.counter { to.services.clone() } else { from.services.reversed() }
}
