//! What a halt does to the lines (docs/halt.md): nothing acts by itself any more, and outputs hold or go safe.

use super::{
    lease::{Drive, Lease},
    lines::{GpioLines, LinesState},
};
use contract::values::Pin;
use std::time::Duration;

/// A wave with a period of at least this switches what is on its pin, as `repeat` of gpio.write_pin does, whose levels
/// last 20 ms at least. A faster one sets a mean value, such as the speed of a fan or the angle of a servo, and is held.
const SWITCHES: Duration = Duration::from_millis(40);

impl GpioLines {
    /// The machine was halted: until [`GpioLines::lifted`] nothing is driven anew. With `safe` every output and PWM
    /// channel is settled, whoever holds it; otherwise outputs hold, and what changes them by itself ends. Inputs drive
    /// nothing.
    pub fn halted(&self, safe: bool) {
        let mut state = self.state();
        state.halted = true;
        if safe {
            let outputs = state.leases.iter().filter(|(_, lease)| !matches!(lease.drive, Drive::Input { .. }));
            let pins: Vec<Pin> = outputs.map(|(pin, _)| *pin).collect();
            return self.settle_and_tell(state, &pins);
        }
        let (mut altered, mut switching) = (Vec::new(), Vec::new());
        for (pin, lease) in &mut state.leases {
            if lease.hold() {
                altered.push(*pin);
            }
            if switches(lease) {
                switching.push(*pin);
            }
        }
        for pin in switching {
            self.end_switching(&mut state, pin);
            altered.push(pin);
        }
        drop(state);
        altered.into_iter().for_each(|pin| self.alter(pin));
    }

    /// The halt was lifted.
    pub fn lifted(&self) {
        self.state().halted = false;
    }

    /// Ends a slow wave: low by software, still lent; its safe state by hardware, which leaves no line to hold.
    fn end_switching(&self, state: &mut LinesState, pin: Pin) {
        let ended = self
            .end_wave(state, pin)
            .and_then(|_| if state.leases.contains_key(&pin) { Ok(()) } else { self.enter_safe_state(state, pin) });
        if let Err(fault) = ended {
            tracing::error!(pin = pin.bcm(), %fault, "its wave goes on though the machine is halted");
        }
    }
}

fn switches(lease: &Lease) -> bool {
    let Drive::Pwm { wave, .. } = &lease.drive else { return false };
    // One that cannot be looked at has ended, or is about to be ended.
    wave.glance().map_or(true, |report| report.wave.period() >= SWITCHES && !report.wave.is_constant())
}
