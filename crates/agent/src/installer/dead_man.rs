//! The dead man's switch: if a committed version gets no answer from its channel for as long as the owner configured,
//! the previous version is tried again, once. The server half has the network and triggers it; the agent checks
//! everything that it can see itself.

use super::{Installer, System};
use update::{slots, status::Phase};

/// The setting, which is also the principal of such a rollback.
pub const DEAD_MAN: &str = "update.dead_man_hours";

impl Installer {
    /// Whether an automatic rollback is due: the configuration enables it, the running version was committed long
    /// enough ago and has not reached its channel since, and the other version is older. From an older one there is no way back here, so it happens once.
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
        newer
            && !slots::has_reached_channel(state, &seen)
            && since.is_some_and(|since| (self.clock)() >= since.saturating_add(hours * 3_600_000))
    }
}
