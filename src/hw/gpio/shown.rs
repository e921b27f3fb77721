//! How a pin is now, for those who want to look.

use super::{
    lease::{Back, Drive, Owner},
    lines::Lines,
    port::{Fault, Function, Level, Look, Pull},
};
use crate::hw::board::Pin;
use tokio::time::Instant;

/// One pin.
#[derive(Debug)]
pub struct Shown {
    /// Without a consumer where that is us.
    pub look: Look,
    pub value: Option<Level>,
    pub lease: Option<ShownLease>,
}

/// Its lease, if it has one.
#[derive(Debug)]
pub struct ShownLease {
    pub owner: Owner,
    pub pull: Option<Pull>,
    pub until: Option<Instant>,
    pub revert: Option<(Instant, Back)>,
}

impl Lines {
    /// Looks without touching the pin.
    ///
    /// # Errors
    /// When the chip cannot be asked.
    pub fn show(&self, pin: Pin) -> Result<Shown, Fault> {
        let mut state = self.state();
        let mut look = self.port_of(&mut state)?.look(pin)?;
        let mut value = look.level;
        let mut shown = None;
        let mut ours = true;
        if let Some(lease) = state.leases.get(&pin) {
            let (function, level, pull) = match &lease.drive {
                Drive::Input { line, pull, .. } => (Function::Input, line.level()?, Some(*pull)),
                Drive::Output { line } => (Function::Output, line.level()?, None),
            };
            look.function = function;
            value = Some(level);
            shown = Some(ShownLease { owner: lease.owner.clone(), pull, until: lease.until, revert: lease.revert });
        } else if let Some(line) = state.resting.get(&pin) {
            value = Some(line.level()?);
        } else if let Some(watched) = state.watched.get(&pin) {
            value = Some(watched.line.level()?);
        } else {
            ours = false;
        }
        if ours {
            look.consumer = None;
        }
        Ok(Shown { look, value, lease: shown })
    }
}
