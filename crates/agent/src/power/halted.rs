//! A restart or shutdown that a call ordered acts by itself when its time comes: a halt cancels it. Those of updates, of a
//! rollback and of a restore go on.

use super::{Pending, Power, PowerAction, PowerOutcome, Scheduled};

impl Power {
    /// The machine was halted. Returns what that cancelled. It does not happen in this run of the agent, whether or not the
    /// card takes the note of that.
    pub(crate) fn halted(&self) -> Option<Scheduled> {
        let mut now = self.lock();
        let pending = now.card.pending.clone();
        let Pending { scheduled, .. } = pending.filter(|pending| pending.called && !pending.begun)?;
        if let Some(timer) = now.timer.take() {
            timer.abort();
        }
        let note = Some("the machine was halted".to_owned());
        if let Err(error) = self.settle(&mut now, PowerOutcome::Cancelled, note) {
            now.card.pending = None;
            tracing::error!(target: "agent", %error, "that a halt cancelled a {} could not be noted", scheduled.action.name());
        }
        drop(now);
        if let Some(told) = self.0.told.get().filter(|_| scheduled.action == PowerAction::Reboot) {
            told.cancelled(scheduled.reason.as_deref());
        }
        Some(scheduled)
    }
}
