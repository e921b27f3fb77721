//! The header of a board that the kernel drives: its GPIO chip, opened once more, as another process would.

use super::{Held, Lines};
use gpio_cdev::{Chip, LineRequestFlags};
use hw::board::Board;
use rppal::gpio::{Gpio, Level};
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A line's holder in the kernel's eyes.
fn hold(label: &str, number: u8, consumer: &str) -> Held {
    request(label, number, LineRequestFlags::INPUT, false, consumer)
}

fn request(label: &str, number: u8, how: LineRequestFlags, high: bool, consumer: &str) -> Held {
    let chips = gpio_cdev::chips().expect("the GPIO chips").map(|chip| chip.expect("a GPIO chip"));
    let mut chip = chips.into_iter().find(|chip: &Chip| chip.label() == label).expect("the chip of the header");
    let line = chip.get_line(number.into()).expect("the line");
    Box::new(line.request(how, u8::from(high), consumer).expect("the line is free"))
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
    fn forbidden(&self) -> Option<u8> {
        Some(25)
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
    fn functions(&self) -> &[(u8, &'static str)] {
        &[]
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

/// A header: what a Raspberry Pi's registers say, and wires from one pin to another.
pub struct Header {
    label: String,
    registers: Option<Gpio>,
    functions: Vec<(u8, &'static str)>,
    free: Vec<u8>,
    safe_high: u8,
    forbidden: Option<u8>,
    /// Free pins, and what each is wired to.
    wires: Vec<(u8, u8)>,
    /// The other ends that drive.
    driving: Mutex<BTreeMap<u8, Held>>,
}

/// `GPIOHANDLE_REQUEST_BIAS_DISABLE`: the resistor at the other end would pull against the one that is tried.
const BIAS_DISABLE: u32 = 1 << 7;

impl Header {
    /// With nothing connected.
    pub fn bare() -> Self {
        // I2C and a serial port: what raspi3b's device tree has on.
        let functions = vec![(2, "SDA1"), (3, "SCL1"), (14, "TXD1"), (15, "RXD1")];
        Self {
            forbidden: Some(25),
            ..Self::of("pinctrl-bcm2835".to_owned(), functions, &[17, 22, 23, 24, 26], Vec::new())
        }
    }

    /// With pins that a person has named, four free ones and one with a safe level, and wires from the free ones. `functions` are of a
    /// header before the Pi 5's, whose chip calls them by other names.
    pub fn named(
        board: &Board,
        label: String,
        pins: &[u8],
        wires: Vec<(u8, u8)>,
        functions: &[(u8, &'static str)],
    ) -> Self {
        let is_rp1 = board.profile.is_some_and(|profile| profile.header_chip == hw::model::Chip::Rp1);
        let functions = functions.iter().map(|(pin, name)| (*pin, if is_rp1 { "i2c1" } else { name })).collect();
        Self::of(label, functions, pins, wires)
    }

    fn of(label: String, functions: Vec<(u8, &'static str)>, pins: &[u8], wires: Vec<(u8, u8)>) -> Self {
        let registers = Gpio::new().ok();
        let functions = if registers.is_some() { functions } else { Vec::new() };
        let (safe_high, free) = pins.split_last().expect("pins");
        Self {
            label,
            registers,
            functions,
            free: free.to_vec(),
            safe_high: *safe_high,
            forbidden: None,
            wires,
            driving: Mutex::default(),
        }
    }

    fn other_end(&self, number: u8) -> u8 {
        let wire = self.wires.iter().find(|(pin, _)| *pin == number);
        wire.unwrap_or_else(|| panic!("nothing is connected to GPIO {number}")).1
    }

    fn driving(&self) -> MutexGuard<'_, BTreeMap<u8, Held>> {
        self.driving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines for Header {
    fn free(&self) -> &[u8] {
        &self.free
    }
    fn forbidden(&self) -> Option<u8> {
        self.forbidden
    }
    fn safe_high(&self) -> u8 {
        self.safe_high
    }
    fn can_drive(&self) -> bool {
        !self.wires.is_empty()
    }
    fn can_pull(&self) -> bool {
        !self.wires.is_empty()
    }
    fn functions(&self) -> &[(u8, &'static str)] {
        &self.functions
    }
    fn drive(&self, number: u8, high: bool) {
        let end = self.other_end(number);
        self.let_go(number);
        self.driving().insert(end, request(&self.label, end, LineRequestFlags::OUTPUT, high, "the hand"));
    }
    fn let_go(&self, number: u8) {
        let Some((_, end)) = self.wires.iter().find(|(pin, _)| *pin == number) else { return };
        self.driving().remove(end);
        // Whether a line that was let go is still driven is its driver's business.
        let open = LineRequestFlags::INPUT | LineRequestFlags::from_bits_retain(BIAS_DISABLE);
        drop(request(&self.label, *end, open, false, "the hand"));
    }
    fn level(&self, number: u8) -> Option<bool> {
        let pin = self.registers.as_ref()?.get(number).expect("a pin of the header");
        Some(pin.read() == Level::High)
    }
    fn hold(&self, number: u8, consumer: &str) -> Held {
        hold(&self.label, number, consumer)
    }
}
