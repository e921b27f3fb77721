//! The record of an install, one write per step: the transitions of [`slots`], on the machine's ledger.

use crate::{
    Slot,
    slots::{self, AdmissionInput, Candidate, Ledger, StateRecord, Step, UpdateLimits},
    status::RestartPlan,
    trust::VerifiedRelease,
};
use base::error::ToolError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The ledger, and the other inputs of its transitions. Cheap to clone.
#[derive(Clone)]
pub struct InstallRecord {
    pub ledger: Arc<Mutex<Ledger>>,
    pub clock: Clock,
    /// The running image's own counter, if it has one.
    pub running_counter: Option<u64>,
    pub limits: UpdateLimits,
    /// When the machine restarts into the new slot, once it is armed.
    pub restart: RestartPlan,
}

impl InstallRecord {
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs the step that `decide` makes of the current state.
    ///
    /// # Errors
    /// Those of the transition, and of the card.
    pub fn step(&self, decide: impl FnOnce(&StateRecord) -> Result<Step, ToolError>) -> Result<(), ToolError> {
        let mut ledger = self.ledger();
        let step = decide(ledger.state())?;
        ledger.perform(&step)
    }

    /// Whether it may be installed, and where. Writes nothing.
    ///
    /// # Errors
    /// Those of [`slots::admit`].
    pub fn admit(&self, release: &VerifiedRelease) -> Result<Slot, ToolError> {
        let ledger = self.ledger();
        let candidate = Candidate::of(&release.manifest, release.digest);
        let (state, seen, now_ms) = (ledger.state(), ledger.evidence(), (self.clock)());
        let resumes = self.resumes(state, release);
        let limits = if resumes { UpdateLimits { installs_a_day: u32::MAX, ..self.limits } } else { self.limits };
        let running = self.running_counter;
        slots::admit(state, &AdmissionInput { candidate: &candidate, seen: &seen, running, limits, now_ms })
    }

    /// Whether it resumes an interrupted install.
    pub fn resumes(&self, state: &StateRecord, release: &VerifiedRelease) -> bool {
        let writing = |stage| matches!(stage, slots::Stage::Writing | slots::Stage::Written | slots::Stage::Verified);
        state.update.as_ref().is_some_and(|update| update.manifest == Some(release.digest) && writing(update.stage))
    }

    pub(super) fn writing(&self, release: &VerifiedRelease, to: Slot) -> Result<(), ToolError> {
        let mut ledger = self.ledger();
        let candidate = Candidate::of(&release.manifest, release.digest);
        let seen = ledger.evidence();
        if self.admitted_elsewhere(&seen, to) {
            return Err(ToolError::precondition(format!("slot {to} runs by now, and is not written")));
        }
        let (now_ms, running, limits) = ((self.clock)(), self.running_counter, self.limits);
        let asked = AdmissionInput { candidate: &candidate, seen: &seen, running, limits, now_ms };
        let step = slots::begin_writing(ledger.state(), &asked)?;
        ledger.perform(&step)
    }

    pub(super) fn checkpoint(&self, done: u64) -> Result<(), ToolError> {
        self.step(|state| slots::checkpoint(state, done))
    }

    pub(super) fn written(&self) -> Result<(), ToolError> {
        self.step(slots::written)
    }

    pub(super) fn verified(&self) -> Result<(), ToolError> {
        self.step(slots::verified)
    }

    pub(super) fn armed(&self) -> Result<(), ToolError> {
        let mut ledger = self.ledger();
        let mut step = slots::arm(ledger.state(), &ledger.evidence())?;
        // One write, so that a restarted agent knows the plan in any case.
        if let Some(update) = step.state.as_mut().and_then(|state| state.update.as_mut()) {
            update.restart = self.restart;
        }
        ledger.perform(&step)
    }

    pub(super) fn failed(&self, to: Slot, why: &str) -> Result<(), ToolError> {
        let now = (self.clock)();
        self.step(|state| slots::failed(state, to, why, now))
    }

    /// Records why the attempt stopped; it may be resumed later.
    pub(super) fn interrupted(&self, why: &str) -> Result<(), ToolError> {
        self.step(|state| {
            let mut next = state.clone();
            let going_on = next.update.is_some();
            if let Some(attempt) = next.last_attempt.as_mut().filter(|_| going_on) {
                attempt.reason = why[..why.floor_char_boundary(1024)].to_owned();
            }
            Ok(if next == *state { Step::default() } else { Step::to(next) })
        })
    }

    fn admitted_elsewhere(&self, seen: &crate::boot::Evidence, to: Slot) -> bool {
        seen.running() != Some(to.other())
    }
}
