//! The safe state of a pin, which it gets whenever its use ends.
//!
//! | ends by | what we do | what the kernel guarantees |
//! | --- | --- | --- |
//! | release, end of lease, connection closed (unless its caller gave a time), a halt with `halt.safe_outputs` | safe state at once | |
//! | stop of the server | safe state, then the line is let go | the line is free |
//! | kill of the server | the next start does it ([`super::record`]) | the line is free; whether it is still driven is the driver's business |

use super::{
    lease::{Drive, Lease},
    lines::{GpioLines, LinesState},
    record::Left,
};
use crate::line::{Level, LineError, Take};
use contract::{access::presence::Presence, values::Pin};
use std::sync::MutexGuard;

/// The consumer label of a line in its safe state.
const CONSUMER: &str = "raspi-mcp safe state";
/// The log target, kept from earlier versions.
const LOG: &str = "raspi_mcp::hw::gpio::rest";

impl GpioLines {
    /// Ends the lease of a pin, if it has one, and puts the pin into its safe state.
    pub(super) fn settle(&self, state: &mut LinesState, pin: Pin) -> Result<(), LineError> {
        let Some(mut lease) = state.leases.remove(&pin) else { return Ok(()) };
        if let Drive::Pwm { wave, line, .. } = lease.drive {
            let stopped = self.stop_wave(state, pin, &wave);
            let Some(line) = line else { return stopped.and_then(|()| self.enter_safe_state(state, pin)) };
            lease.drive = Drive::Output { line };
        }
        match (self.rules.safe(pin).level(), lease.drive) {
            (Some(level), Drive::Output { line }) => {
                // Kept held, so that it is driven without a gap.
                let set = line.set(level);
                state.resting.insert(pin, line);
                set
            }
            (_, drive) => {
                let driven = matches!(drive, Drive::Output { .. });
                drive.close();
                drop(drive);
                if driven {
                    self.undrive(state, pin)?
                }
                self.enter_safe_state(state, pin)
            }
        }
    }

    /// Drives an unused pin to its safe level, if it has one.
    pub(super) fn enter_safe_state(&self, state: &mut LinesState, pin: Pin) -> Result<(), LineError> {
        let Some(level) = self.rules.safe(pin).level() else { return Ok(()) };
        self.drive_at_rest(state, pin, level)
    }

    fn drive_at_rest(&self, state: &mut LinesState, pin: Pin, level: Level) -> Result<(), LineError> {
        let port = self.port_of(state)?;
        state.record.driven(pin)?;
        let line = port.take(pin, Take::Output { level }, CONSUMER)?;
        state.resting.insert(pin, line.into());
        Ok(())
    }

    /// Makes an output an input: not every kernel does so on release.
    fn undrive(&self, state: &mut LinesState, pin: Pin) -> Result<(), LineError> {
        self.port_of(state)?.take(pin, Take::Input { pull: None }, CONSUMER)?.close();
        state.record.let_go(pin);
        Ok(())
    }

    /// Pins that a killed server left driven, and that were put into their safe state at the start.
    pub fn recovered(&self) -> Vec<Pin> {
        self.state().recovered.clone()
    }

    /// Cleans up what a killed server left, and drives the configured pins. Called once, at the start.
    pub fn begin(&self) {
        let mut state = self.state();
        let Left { outputs, waves } = state.record.left();
        let mut right = self.stop_left(&mut state, &waves);
        for pin in outputs.iter().copied().filter(|pin| self.rules.safe(*pin).level().is_none()) {
            match self.undrive(&mut state, pin) {
                Ok(()) => {
                    tracing::warn!(target: LOG, pin = pin.bcm(), "was driven by a server that was killed; it is an input now");
                    right.push(pin);
                }
                Err(LineError::Busy { consumer }) => {
                    tracing::warn!(
                        target: LOG,
                        pin = pin.bcm(),
                        ?consumer,
                        "was driven by a server that was killed; another has it now"
                    );
                    state.record.let_go(pin);
                }
                Err(fault) => {
                    tracing::error!(target: LOG, pin = pin.bcm(), %fault, "may still be driven by a server that was killed")
                }
            }
        }
        for (pin, level) in self.rules.driven() {
            match self.drive_at_rest(&mut state, pin, level) {
                Ok(()) => {
                    tracing::info!(target: LOG, pin = pin.bcm(), level = level.name(), "is in its safe state");
                    right.extend(outputs.contains(&pin).then_some(pin));
                }
                Err(fault) => {
                    tracing::error!(target: LOG, pin = pin.bcm(), %fault, "cannot be driven to its safe state")
                }
            }
        }
        base::sort::sort(&mut right);
        right.dedup();
        state.recovered = right;
    }

    /// A connection has ended: its leases are settled, but for those whose caller gave them a time.
    pub fn left(&self, presence: &Presence) {
        let mut state = self.state();
        let ours = |lease: &Lease| lease.owner.presence.as_ref() == Some(presence);
        let theirs = state.leases.iter_mut().filter(|(_, lease)| ours(lease));
        let pins: Vec<Pin> = theirs.filter_map(|(pin, lease)| (!lease.stays()).then_some(*pin)).collect();
        self.settle_and_tell(state, &pins);
    }

    /// A credential was revoked: its leases are settled at once, including those that continue without a connection.
    pub fn revoked(&self, principal: &str) {
        let state = self.state();
        let theirs = state.leases.iter().filter(|(_, lease)| lease.owner.principal == principal);
        let pins: Vec<Pin> = theirs.map(|(pin, _)| *pin).collect();
        self.settle_and_tell(state, &pins);
    }

    pub(super) fn settle_and_tell(&self, mut state: MutexGuard<'_, LinesState>, pins: &[Pin]) {
        self.settle_all(&mut state, pins);
        drop(state);
        pins.iter().for_each(|pin| self.alter(*pin));
    }

    /// The server stops: every line goes to its safe state and is released.
    pub fn end(&self) {
        let mut state = self.state();
        let pins: Vec<Pin> = state.leases.keys().copied().collect();
        self.settle_all(&mut state, &pins);
        for (pin, line) in std::mem::take(&mut state.resting) {
            line.close();
            state.record.let_go(pin);
        }
        for watched in std::mem::take(&mut state.watched).into_values() {
            watched.line.close();
        }
    }

    pub(super) fn settle_all(&self, state: &mut LinesState, pins: &[Pin]) {
        for pin in pins {
            match self.settle(state, *pin) {
                Ok(()) => tracing::debug!(target: LOG, pin = pin.bcm(), "is in its safe state again"),
                Err(fault) => {
                    tracing::error!(target: LOG, pin = pin.bcm(), %fault, "could not be put into its safe state")
                }
            }
        }
    }
}
