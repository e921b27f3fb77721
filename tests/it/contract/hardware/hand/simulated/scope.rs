//! What comes out of the simulated board's PWM.

use crate::contract::hardware::hand::{Held, Scope, kernel_scope::sampled};
use contract::values::Pin;
use hw::{gpio::SimulatedGpio, pwm::SimulatedPwm};

pub struct Simulated {
    pub channels: SimulatedPwm,
    pub lines: SimulatedGpio,
}

/// The board has one of its channels on GPIO 12 and 18, the other on 13 and 19.
fn channel(pin: u8) -> u32 {
    u32::from(pin == 13 || pin == 19)
}

impl Scope for Simulated {
    fn hardware(&self) -> &[u8] {
        &[12, 13]
    }
    fn software(&self) -> &[u8] {
        &[17, 22]
    }
    fn signal(&self, pin: u8) -> Option<(u64, u64)> {
        if self.hardware().contains(&pin) {
            let wave = self.channels.wave(channel(pin))?;
            let whole = |part: std::time::Duration| u64::try_from(part.as_nanos()).unwrap();
            return Some((whole(wave.period()), whole(wave.high())));
        }
        let pin = Pin::try_from(u64::from(pin)).unwrap();
        sampled(|| self.lines.level(pin).is_high())
    }
    fn hold(&self, pin: u8) -> Held {
        self.channels.take_away(channel(pin), true);
        Box::new(Holding(self.channels.clone(), channel(pin)))
    }
}

struct Holding(SimulatedPwm, u32);

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.take_away(self.1, false);
    }
}
