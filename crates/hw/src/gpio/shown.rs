//! The current state of a pin, for display.

use super::{
    lease::{Back, Drive, HeldBy, Owner},
    lines::GpioLines,
};
use crate::line::{Function, Level, LineError, LineInfo, Pull};
use crate::pwm;
use contract::values::Pin;
use tokio::time::Instant;

/// One pin.
#[derive(Debug)]
pub struct PinStatus {
    /// Without the consumer if that is this server.
    pub look: LineInfo,
    pub value: Option<Level>,
    pub lease: Option<ShownLease>,
}

/// Its lease, if it has one.
#[derive(Debug)]
pub struct ShownLease {
    pub owner: Owner,
    /// Whether it is the viewer's.
    pub yours: bool,
    pub pull: Option<Pull>,
    /// The wave, if it is one.
    pub wave: Option<pwm::PwmReport>,
    /// When it ends unless it is used.
    pub ends: Option<Instant>,
    pub held_by: HeldBy,
    pub revert: Option<(Instant, Back)>,
}

impl GpioLines {
    /// Reads the state without touching the pin.
    ///
    /// # Errors
    /// When the chip cannot be queried.
    pub fn show(&self, pin: Pin, viewer: &Owner) -> Result<PinStatus, LineError> {
        let mut state = self.state();
        let mut look = self.port_of(&mut state)?.look(pin)?;
        let mut value = look.level;
        let mut shown = None;
        let mut ours = true;
        if let Some(lease) = state.leases.get(&pin) {
            let (function, level, pull) = match &lease.drive {
                Drive::Input { line, pull, .. } => (Function::Input, Some(line.level()?), Some(*pull)),
                Drive::Output { line } => (Function::Output, Some(line.level()?), None),
                Drive::Pwm { line, .. } => {
                    let level = line.as_ref().map_or(Ok(look.level), |line| line.level().map(Some))?;
                    (Function::Output, level, None)
                }
            };
            look.function = function;
            value = level;
            let wave = match &lease.drive {
                Drive::Pwm { wave, .. } => Some(wave.glance().map_err(super::wave::as_line)?),
                _ => None,
            };
            shown = Some(ShownLease {
                owner: lease.owner.clone(),
                yours: lease.is_of(viewer),
                pull,
                wave,
                ends: lease.ends(),
                held_by: lease.held_by(),
                revert: lease.revert,
            });
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
        Ok(PinStatus { look, value, lease: shown })
    }
}
