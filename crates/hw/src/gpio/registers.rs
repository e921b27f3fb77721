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

    /// The pin's function, and its level, which a pin without a function does not have.
    pub fn look(&self, pin: Pin) -> Option<(Function, Option<Level>)> {
        // `get` only reserves it within rppal; the pin is unchanged.
        let found = self.gpio.get(pin.bcm()).ok()?;
        let function = function_of(found.mode(), self.profile, pin);
        let level = (function != Function::NoFunction).then(|| Level::of(found.read() == rppal::gpio::Level::High));
        Some((function, level))
    }
}

fn function_of(mode: Mode, profile: Option<&'static BoardProfile>, pin: Pin) -> Function {
    let number = match mode {
        Mode::Input => return Function::Input,
        Mode::Output => return Function::Output,
        Mode::Null => return Function::NoFunction,
        Mode::Alt0 => 0,
        Mode::Alt1 => 1,
        Mode::Alt2 => 2,
        Mode::Alt3 => 3,
        Mode::Alt4 => 4,
        Mode::Alt5 => 5,
        Mode::Alt6 => 6,
        Mode::Alt7 => 7,
        Mode::Alt8 => 8,
    };
    Function::Alt(named(number, profile, pin))
}

/// `PWM0`; for an unknown data sheet `ALT5`.
fn named(number: usize, profile: Option<&'static BoardProfile>, pin: Pin) -> String {
    let names = profile.map(|profile| profile.functions(pin)).unwrap_or_default();
    match names.get(number) {
        Some(name) if !name.is_empty() => (*name).to_owned(),
        _ => format!("ALT{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PROFILES;

    #[test]
    fn an_unused_pin_of_a_pi_5_has_no_function_and_that_of_a_bus_has_a_name() {
        let five = PROFILES.iter().find(|profile| profile.name == "Raspberry Pi 5");
        let pin = |number: u64| Pin::try_from(number).unwrap();
        assert_eq!(function_of(Mode::Null, five, pin(17)), Function::NoFunction);
        assert_eq!(function_of(Mode::Null, None, pin(17)), Function::NoFunction);
        assert_eq!(function_of(Mode::Input, five, pin(17)), Function::Input);
        assert_eq!(function_of(Mode::Alt3, five, pin(2)), Function::Alt("i2c1".into()));
        assert_eq!(function_of(Mode::Alt5, None, pin(2)), Function::Alt("ALT5".into()));
    }
}
