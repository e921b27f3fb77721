//! Steps 3 to 6: while blocks are written. Each transition is one write.

use super::{
    Act, AdmissionInput, Candidate, PendingUpdate, Stage, StateRecord, Step, TrialKind, UpdateLimits, admit::admit,
    limits,
};
use crate::{
    Slot,
    health::Missing,
    status::{Attempt, Phase, RestartPlan, SlotState},
};
use base::error::ToolError;
use serde_json::Map;

/// Longest reason that is recorded, in bytes.
const LONGEST_REASON: usize = 1024;

/// Step 3, before the target's head is zeroed: from here on the target is unbootable. An update that was armed but not
/// tried is disarmed first, so that the boot chain never tries a missing system. Resuming an interrupted one is the
/// same.
///
/// # Errors
/// Those of [`admit`].
pub fn begin_writing(state: &StateRecord, asked: &AdmissionInput) -> Result<Step, ToolError> {
    let &AdmissionInput { candidate, limits, now_ms, .. } = asked;
    let resumed = resumes(state, candidate);
    // Resuming does not count as another install.
    let generous = UpdateLimits { installs_a_day: u32::MAX, ..limits };
    let target = admit(state, &AdmissionInput { limits: if resumed { generous } else { limits }, ..*asked })?;
    // No floor rises here: the release may still fail.
    let mut next = state.clone();
    if !resumed {
        next.installs_ms = limits::install(limits, &state.installs_ms, now_ms)?;
        next.begin_attempt(Attempt {
            version: candidate.version.clone(),
            counter: candidate.counter,
            manifest_sha256: candidate.manifest.to_string(),
            target,
            phase: Phase::Writing,
            reason: String::new(),
            reset_cause: None,
            boot_ids: Vec::new(),
            log_tail: None,
            started_ms: now_ms,
            finished_ms: None,
        });
    }
    set_phase(&mut next, Phase::Writing);
    let record = next.slots.of_mut(target);
    record.version = Some(candidate.version.clone());
    record.counter = Some(candidate.counter);
    record.manifest = Some(candidate.manifest);
    record.services = candidate.services.clone();
    record.state = SlotState::Writing;
    record.note = None;
    record.barred = true;
    let armed = state.update.as_ref().is_some_and(|update| update.stage == Stage::Armed);
    // Counted across downloads: a version gets three armings, however often it is written.
    let armings =
        state.update.as_ref().filter(|update| update.manifest == Some(candidate.manifest)).map_or(0, |was| was.armings);
    next.update = Some(PendingUpdate {
        kind: TrialKind::Install,
        manifest: Some(candidate.manifest),
        version: candidate.version.clone(),
        counter: candidate.counter,
        created: candidate.created,
        revoke_below: candidate.revoke_below,
        target,
        stage: Stage::Writing,
        armings,
        lost: 0,
        waits_for: Missing::default(),
        excused_trials: 0,
        armed_in: None,
        trials: Vec::new(),
        heard: Vec::new(),
        verdict: None,
        restart: RestartPlan::Waits,
        by_itself: false,
        services: candidate.services.clone(),
        done: 0,
        more: Map::new(),
    });
    let before = if armed { vec![Act::Disarm] } else { Vec::new() };
    // What was damaged there is written over.
    Ok(Step { before, state: Some(next), after: vec![Act::ClearDamage(target)] })
}

/// Whether it resumes the interrupted update.
fn resumes(state: &StateRecord, candidate: &Candidate) -> bool {
    let writing = |stage| matches!(stage, Stage::Writing | Stage::Written | Stage::Verified);
    state.update.as_ref().is_some_and(|update| update.manifest == Some(candidate.manifest) && writing(update.stage))
}

/// `done` bytes are on the medium.
///
/// # Errors
/// `failed_precondition` unless blocks are being written.
pub fn checkpoint(state: &StateRecord, done: u64) -> Result<Step, ToolError> {
    stage(state, &[Stage::Writing], |update| update.done = done)
}

/// Every block is on the medium except the head.
///
/// # Errors
/// `failed_precondition` unless blocks were being written.
pub fn written(state: &StateRecord) -> Result<Step, ToolError> {
    let mut next = stage(state, &[Stage::Writing, Stage::Written], |update| update.stage = Stage::Written)?;
    next.state.iter_mut().for_each(|state| set_phase(state, Phase::Verifying));
    Ok(next)
}

/// Every block was read back from the medium. Next the head is written, then [`super::arm`] is called.
///
/// # Errors
/// `failed_precondition` unless everything was written.
pub fn verified(state: &StateRecord) -> Result<Step, ToolError> {
    stage(state, &[Stage::Written, Stage::Verified], |update| update.stage = Stage::Verified)
}

/// The install failed before a trial: nothing is pending any more, and the target stays unbootable. The version is not
/// blocked: the next try may succeed.
///
/// # Errors
/// `failed_precondition` once the update was armed.
pub fn failed(state: &StateRecord, target: Slot, reason: &str, now_ms: i64) -> Result<Step, ToolError> {
    at(state, &[Stage::Writing, Stage::Written, Stage::Verified])?;
    let mut next = state.clone();
    next.update = None;
    let record = next.slots.of_mut(target);
    record.state = SlotState::Bad;
    record.barred = true;
    record.note = Some(bounded(reason));
    end_attempt(&mut next, Phase::Failed, reason, now_ms);
    Ok(Step { state: Some(next), after: vec![Act::ZeroHead(target)], ..Step::default() })
}

/// The pending update, if it is in one of the stages `from`.
pub(super) fn at<'a>(state: &'a StateRecord, from: &[Stage]) -> Result<&'a PendingUpdate, ToolError> {
    let what = match &state.update {
        Some(update) if from.contains(&update.stage) => return Ok(update),
        Some(update) => format!("version {} is at another step ({:?})", update.version, update.stage),
        None => "no update is under way".into(),
    };
    Err(ToolError::precondition(what).hint("ask for the update's status"))
}

/// Changes the pending update, if it is in one of the stages `from`.
pub(super) fn stage(
    state: &StateRecord,
    from: &[Stage],
    change: impl FnOnce(&mut PendingUpdate),
) -> Result<Step, ToolError> {
    let mut update = at(state, from)?.clone();
    change(&mut update);
    Ok(Step::to(StateRecord { update: Some(update), ..state.clone() }))
}

pub(super) fn set_phase(state: &mut StateRecord, phase: Phase) {
    if let Some(attempt) = &mut state.last_attempt {
        attempt.phase = phase;
    }
}

/// Ends the attempt with this reason (empty on success).
pub(super) fn end_attempt(state: &mut StateRecord, phase: Phase, reason: &str, now_ms: i64) {
    if let Some(attempt) = &mut state.last_attempt {
        attempt.phase = phase;
        attempt.reason = bounded(reason);
        attempt.finished_ms = Some(now_ms);
    }
}

/// At most [`LONGEST_REASON`] bytes, cut at a character.
pub(super) fn bounded(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST_REASON)].to_owned()
}
