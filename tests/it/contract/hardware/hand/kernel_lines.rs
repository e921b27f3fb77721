//! The header of a board that the kernel drives: its GPIO chip, opened once more, as another process would.

use super::{Held, Lines};
use gpio_cdev::{Chip, LineRequestFlags};
use rppal::gpio::{Gpio, Level};
use std::{fs, path::PathBuf};

/// A line's holder in the kernel's eyes.
fn hold(label: &str, number: u8, consumer: &str) -> Held {
    let chips = gpio_cdev::chips().expect("the GPIO chips").map(|chip| chip.expect("a GPIO chip"));
    let mut chip = chips.into_iter().find(|chip: &Chip| chip.label() == label).expect("the chip of the header");
    let line = chip.get_line(number.into()).expect("the line");
    Box::new(line.request(LineRequestFlags::INPUT, 0, consumer).expect("the line is free"))
}

/// gpio-sim: what is outside is a file for each line (Documentation/admin-guide/gpio/gpio-sim.rst).
pub struct GpioSim {
    label: &'static str,
    folder: PathBuf,
}

impl GpioSim {
    /// The bank of that label. `device` is its folder in sysfs.
    pub fn bank(label: &'static str, device: &str) -> Self {
        let chips = fs::read_dir(device).unwrap_or_else(|error| panic!("{device}: {error}"));
        let bank = |path: &PathBuf| path.join("sim_gpio0").is_dir();
        let folder = chips.map(|entry| entry.unwrap().path()).find(bank).expect("a bank of gpio-sim");
        Self { label, folder }
    }

    fn file(&self, number: u8, file: &str) -> PathBuf {
        self.folder.join(format!("sim_gpio{number}/{file}"))
    }
}

impl Lines for GpioSim {
    fn free(&self) -> &[u8] {
        &[17, 22, 23, 24]
    }
    fn forbidden(&self) -> u8 {
        25
    }
    fn safe_high(&self) -> u8 {
        26
    }
    fn can_drive(&self) -> bool {
        true
    }
    fn can_pull(&self) -> bool {
        true
    }
    fn knows_functions(&self) -> bool {
        false
    }
    /// What is outside pulls; there is nothing that it pulls against.
    fn drive(&self, number: u8, high: bool) {
        let pull = if high { "pull-up" } else { "pull-down" };
        fs::write(self.file(number, "pull"), pull).expect("the line can be pulled");
    }
    fn let_go(&self, number: u8) {
        self.drive(number, false);
    }
    fn level(&self, number: u8) -> Option<bool> {
        Some(fs::read_to_string(self.file(number, "value")).expect("the line can be read").trim() == "1")
    }
    fn hold(&self, number: u8, consumer: &str) -> Held {
        hold(self.label, number, consumer)
    }
}

/// A Raspberry Pi's header with nothing connected: what its registers say.
pub struct Header {
    /// What is used as I2C and serial port is not free.
    registers: Option<Gpio>,
}

impl Header {
    pub fn bare() -> Self {
        Self { registers: Gpio::new().ok() }
    }
}

impl Lines for Header {
    fn free(&self) -> &[u8] {
        &[17, 22, 23, 24]
    }
    fn forbidden(&self) -> u8 {
        25
    }
    fn safe_high(&self) -> u8 {
        26
    }
    fn can_drive(&self) -> bool {
        false
    }
    fn can_pull(&self) -> bool {
        false
    }
    fn knows_functions(&self) -> bool {
        self.registers.is_some()
    }
    fn drive(&self, _: u8, _: bool) {
        panic!("nothing is connected");
    }
    fn let_go(&self, _: u8) {}
    fn level(&self, number: u8) -> Option<bool> {
        let pin = self.registers.as_ref()?.get(number).expect("a pin of the header");
        Some(pin.read() == Level::High)
    }
    fn hold(&self, number: u8, consumer: &str) -> Held {
        hold("pinctrl-bcm2835", number, consumer)
    }
}
