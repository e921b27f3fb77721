//! Converts refusals of the lines to errors.

use base::error::{ErrorCode, ToolError};
use contract::values::Pin;
use hw::{
    gpio::refusal::GpioRefusal,
    line::LineError,
    pwm::{self, Without, software},
};
use std::io;

/// The error if a wave does not run.
fn waveless(pin: Pin, fault: pwm::PwmError, without: Option<Without>) -> ToolError {
    let what = format!("GPIO {}", pin.bcm());
    let told = match fault {
        pwm::PwmError::Shared { .. } => ToolError::precondition(format!("{what}: {fault}"))
            .hint("one channel makes one wave: release the other pin first, or take one with a channel of its own"),
        pwm::PwmError::Busy(why) => ToolError::precondition(format!("{what} has a PWM channel that is in use: {why}"))
            .hint("end what uses it, or take another pin"),
        pwm::PwmError::Unsupported(why) => ToolError::precondition(format!("{what}: {why}"))
            .hint("another frequency may do; the kernel's log says more"),
        pwm::PwmError::NoRights(why) => ToolError::unavailable(format!("{what} has hardware PWM that cannot be used: {why}"))
            .hint("udev gives PWM to the group gpio (60-raspi-mcp.rules); the unit has to leave /sys/devices/platform writable"),
        pwm::PwmError::TooFast => {
            let Without { why, remedy } = without.unwrap_or_else(|| Without { why: fault.to_string(), remedy: None });
            ToolError::precondition(format!("{what} can have PWM by software only, which makes at most 2000 Hz: {why}"))
                .with("max_frequency_hz", software::HIGHEST_HZ)
                .hint(remedy.unwrap_or_else(|| "take a pin with hardware PWM, or a lower frequency".into()))
        }
        pwm::PwmError::TooMany => ToolError::exhausted(format!("{what} gets no PWM by software: {fault}"))
            .with("limit", software::MOST)
            .hint("release one of them, or take a pin with hardware PWM"),
        pwm::PwmError::Line(fault) => return broken(Some(pin), fault),
        pwm::PwmError::Io(error) => return broken(Some(pin), LineError::Io(error)),
    };
    told.with("pin", pin.bcm())
}

/// The error for a refusal.
pub fn told(pin: Pin, refusal: GpioRefusal) -> ToolError {
    let number = pin.bcm();
    let told = match refusal {
        GpioRefusal::Lent { to, free_in } => {
            // The hint depends on the caller: access::way.
            let told = ToolError::new(ErrorCode::Conflict, format!("GPIO {number} is lent to {to}")).with("lent_to", to);
            told.with_some("free_in_seconds", free_in.map(|time| time.as_secs_f64().ceil() as u64))
        }
        GpioRefusal::NotLent => ToolError::precondition(format!("GPIO {number} is not in use by anybody here"))
            .hint("gpio.list_pins shows what is"),
        GpioRefusal::Is(mode) => {
            let other = if mode == "an input" { "output" } else { "input" };
            ToolError::precondition(format!("GPIO {number} is {mode}"))
                .hint(format!("make it an {other} with gpio.configure_pin first"))
        }
        GpioRefusal::Alt(function) => ToolError::precondition(format!("GPIO {number} is in use as {function}"))
            .with("function", function)
            .hint("switch that function off where it is on (config.txt, a driver), or make the pin an input with gpio.configure_pin"),
        GpioRefusal::Gone => ToolError::cancelled("gpio"),
        GpioRefusal::Halted => ToolError::precondition(format!("GPIO {number} is left as it is: the machine was halted meanwhile"))
            .with("halted", true)
            .hint(contract::halt::HINT),
        GpioRefusal::Record(error) => ToolError::unavailable(format!("GPIO {number} is not driven: {error}"))
            .with("resource", "places.runtime_dir")
            .hint("what is driven is recorded there first, so that it can be put right after a crash; make it writable"),
        GpioRefusal::Pwm { fault, without } => return waveless(pin, fault, without),
        GpioRefusal::Fault(fault) => return broken(Some(pin), fault),
    };
    told.with("pin", number)
}

/// The error for a fault of the line or its chip.
pub fn broken(pin: Option<Pin>, fault: LineError) -> ToolError {
    let what = pin.map_or_else(|| "the GPIO chip".to_owned(), |pin| format!("GPIO {}", pin.bcm()));
    let told = match fault {
        LineError::Busy { consumer } => {
            let by = consumer.as_deref().unwrap_or("something that gives no name");
            let told = ToolError::precondition(format!("{what} is held by {by}, outside this server"));
            told.with_some("consumer", consumer)
                .hint("stop what holds it: another program, or a driver that the device tree gave the line to")
        }
        LineError::NoChip(why) => ToolError::missing(why)
            .with("parameter", "gpio.chip")
            .hint("gpio.chip names the chip; the group gpio may open it"),
        LineError::NoLine(why) => ToolError::missing(why),
        LineError::Closed => ToolError::new(ErrorCode::Conflict, format!("{what} was made something else meanwhile"))
            .hint("look at it with gpio.read_pin, and try again"),
        LineError::Unsupported(why) => {
            ToolError::precondition(format!("{what}: {why}")).hint("take it with gpio.configure_pin first")
        }
        LineError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            ToolError::unavailable(format!("{what} cannot be used: {error}"))
                .hint("let the server's user open /dev/gpiochip*: add it to the group gpio")
        }
        LineError::Io(error) => ToolError::unavailable(format!("{what} does not do what it should: {error}"))
            .hint("look at the kernel's log; the chip may have gone"),
    };
    told.with_some("pin", pin.map(|pin| pin.bcm()))
}
