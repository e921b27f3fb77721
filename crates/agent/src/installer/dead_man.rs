//! The dead man's way back: a version that was committed, and then never heard of its channel for so long as the owner says, gives
//! the one before it another chance, once. The server half has the network and says when; the agent judges all that it can see itself.

use super::{Installer, System};
use update::status::Phase;

/// Who asks for it.
pub const DEAD_MAN: &str = "update.dead_man_hours";

impl Installer {
    /// Whether a rollback that nobody asked for is due: the owner's configuration wants it, the running version was committed that long
    /// ago, and the other one is older: from there nothing leads back here, so it happens once.
    pub(crate) fn dead_man_is_due(&self, system: &System, principal: &str) -> bool {
        let hours = i64::from(self.settings.update.dead_man_hours);
        if principal != DEAD_MAN || hours == 0 {
            return false;
        }
        let ledger = system.record.ledger();
        let (state, seen) = (ledger.state(), ledger.evidence());
        let Some(running) = seen.running() else { return false };
        let committed =
            state.last_attempt.as_ref().filter(|last| last.phase == Phase::Committed && last.target == running);
        let since = committed.and_then(|last| last.finished_ms);
        let newer = state.slots.of(running).counter > state.slots.of(running.other()).counter;
        newer && since.is_some_and(|since| (self.clock)() >= since.saturating_add(hours * 3_600_000))
    }
}
