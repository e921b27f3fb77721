//! What the kernel shows of a machine to whoever looks, without a request to any device: files of /dev, /sys and /proc.

use gpio_cdev::{Chip, LineDirection};
use std::{fs, path::Path};

/// A machine, as its kernel shows it.
pub struct Look {
    /// What the device tree calls the board; `None` without a device tree.
    pub model: Option<String>,
    /// The version of the kernel.
    pub kernel: String,
    /// Labels of the GPIO chips that this user may open.
    pub chips: Vec<String>,
    /// That of the header's chip, if it is among them.
    pub header: Option<String>,
    /// Numbers of the I2C buses, with their adapters' names.
    pub i2c: Vec<(u32, String)>,
    /// SPI devices: bus and chip select.
    pub spi: Vec<(u32, u32)>,
    /// The processor's temperature, in degrees Celsius.
    pub celsius: Option<f64>,
}

/// A GPIO line, as the kernel shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub output: bool,
    /// Who holds it.
    pub consumer: Option<String>,
}

/// Names of a folder that begin with that, without their beginning, sorted.
pub fn names(folder: &str, beginning: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut ends: Vec<String> = names.filter_map(|name| Some(name.strip_prefix(beginning)?.to_owned())).collect();
    ends.sort();
    ends
}

/// The first line of a file, without NULs: the device tree ends its texts with one.
pub fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim_end_matches(['\0', '\n']).to_owned())
}

impl Look {
    /// Looks now. `header` is the label of the header's GPIO chip, where it is known.
    pub fn now(header: Option<String>) -> Self {
        let numbered =
            |number: &String| Some((number.parse().ok()?, line(format!("/sys/class/i2c-dev/i2c-{number}/name"))?));
        let device = |name: &String| {
            let (bus, chip_select) = name.split_once('.')?;
            Some((bus.parse().ok()?, chip_select.parse().ok()?))
        };
        let chips: Vec<String> = chips().map(|chip| chip.label().to_owned()).collect();
        Self {
            model: line("/proc/device-tree/model"),
            kernel: line("/proc/sys/kernel/osrelease").expect("Linux"),
            header: header.filter(|label| chips.contains(label)),
            chips,
            i2c: names("/dev", "i2c-").iter().filter_map(numbered).collect(),
            spi: names("/dev", "spidev").iter().filter_map(device).collect(),
            celsius: celsius(),
        }
    }

    /// Whether there is anything that tools for hardware are about.
    pub fn has_hardware(&self) -> bool {
        self.model.is_some() || !self.chips.is_empty() || !self.i2c.is_empty() || !self.spi.is_empty()
    }
}

fn chips() -> impl Iterator<Item = Chip> {
    names("/dev", "gpiochip").into_iter().filter_map(|number| Chip::new(format!("/dev/gpiochip{number}")).ok())
}

/// The first line of a chip with that label, and as many as it has up to 28, the pins of a 40-pin header.
pub fn lines(label: &str) -> Vec<Line> {
    let mut chip = chips().find(|chip| chip.label() == label).unwrap_or_else(|| panic!("no GPIO chip {label}"));
    let count = chip.num_lines().min(28);
    let mut info = |number| chip.get_line(number).and_then(|line| line.info()).expect("a line of the chip");
    (0..count)
        .map(|number| {
            let info = info(number);
            let held = info.is_used() || info.is_kernel();
            let consumer = info.consumer().filter(|_| held).map(str::to_owned);
            Line { output: info.direction() == LineDirection::Out, consumer }
        })
        .collect()
}

fn celsius() -> Option<f64> {
    let zones = names("/sys/class/thermal", "thermal_zone").into_iter();
    let mut folders = zones.map(|number| format!("/sys/class/thermal/thermal_zone{number}"));
    let folder = folders.find(|folder| line(format!("{folder}/type")).is_some_and(|kind| kind == "cpu-thermal"))?;
    let milli: f64 = line(format!("{folder}/temp"))?.parse().ok()?;
    Some(milli / 1000.0)
}
