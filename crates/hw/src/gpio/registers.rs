//! Functions and levels of the header's pins on a Raspberry Pi, read from the registers through rppal without touching
//! the pins. The kernel's interface reports neither for an unused line.

use crate::line::{Function, Level};
use crate::model::BoardProfile;
use contract::values::Pin;
use rppal::gpio::{Gpio, Mode};

/// The registers, through `/dev/gpiomem` (on a Raspberry Pi 5 `/dev/gpiomem0`), otherwise `/dev/mem`.
pub struct Registers {
    gpio: Gpio,
    profile: Option<&'static BoardProfile>,
}

impl Registers {
    /// # Errors
    /// rppal's message: this kernel has no such device, or this user may not open it.
    pub fn open(profile: Option<&'static BoardProfile>) -> Result<Self, String> {
        let gpio = Gpio::new().map_err(|error| error.to_string())?;
        Ok(Self { gpio, profile })
    }

    /// The pin's function, and its level.
    pub fn look(&self, pin: Pin) -> Option<(Function, Level)> {
        // `get` only reserves it within rppal; the pin is unchanged.
        let found = self.gpio.get(pin.bcm()).ok()?;
        let function = match found.mode() {
            Mode::Input => Function::Input,
            Mode::Output => Function::Output,
            mode => Function::Alt(self.named(pin, mode)),
        };
        Some((function, Level::of(found.read() == rppal::gpio::Level::High)))
    }

    /// `PWM0`; for an unknown data sheet `ALT5`.
    fn named(&self, pin: Pin, mode: Mode) -> String {
        let number = match mode {
            Mode::Alt0 => 0,
            Mode::Alt1 => 1,
            Mode::Alt2 => 2,
            Mode::Alt3 => 3,
            Mode::Alt4 => 4,
            Mode::Alt5 => 5,
            Mode::Alt6 => 6,
            Mode::Alt7 => 7,
            Mode::Alt8 => 8,
            Mode::Input | Mode::Output | Mode::Null => return "none".into(),
        };
        let names = self.profile.map(|profile| profile.functions(pin)).unwrap_or_default();
        match names.get(number) {
            Some(name) if !name.is_empty() => (*name).to_owned(),
            _ => format!("ALT{number}"),
        }
    }
}
