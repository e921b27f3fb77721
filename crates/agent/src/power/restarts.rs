//! Who is told of restarts that are requested, and so not crashes.

use super::Power;
use crate::machine::PowerAction;
use base::error::ToolError;

/// Notified of restarts that are requested, and so not crashes.
pub(crate) trait Restarts: Send + Sync {
    /// Called just before the machine is told to go down: the next start is not after a crash.
    fn before(&self, action: PowerAction, argument: Option<&str>);
    /// The argument that an ordinary restart must hand to the firmware to start an armed slot, if there is one.
    fn argument(&self) -> Option<String>;
    /// A reboot that was scheduled for `reason` was cancelled.
    fn cancelled(&self, reason: Option<&str>);
    /// A simulated machine restarts with that argument.
    fn simulated(&self, argument: Option<&str>);
}

impl Power {
    /// Restarts the machine now, regardless of schedule and rate limit: for a failed trial, where staying up is worse.
    ///
    /// # Errors
    /// `unavailable` when the order cannot be given.
    pub(crate) fn restart_now(&self) -> Result<(), ToolError> {
        if let Some(told) = self.0.told.get() {
            told.before(PowerAction::Reboot, None);
        }
        self.0.machine.schedule_power(PowerAction::Reboot)?;
        if let Some(told) = self.0.told.get()
            && self.0.machine.is_simulated()
        {
            told.simulated(None);
        }
        Ok(())
    }
}
