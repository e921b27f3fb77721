//! The port to sensors, and one sensor.

use super::quantity::Quantity;
use std::io;

/// Longest name of a sensor, in bytes.
pub const LONGEST_NAME: usize = 96;

/// One channel of one chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// `lm75@1-0048/temp1`: chip, the device that it is, and the channel. The same after a restart, which `hwmon3` is not.
    pub name: String,
    pub quantity: &'static Quantity,
    /// What the board's maker calls it.
    pub label: Option<String>,
    /// The kernel's name of the chip.
    pub chip: String,
    /// `hwmon`, `iio` or `w1`.
    pub interface: &'static str,
    pub device: SensorDevice,
    pub(super) source: Source,
}

/// What a sensor hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SensorDevice {
    /// `i2c-1`, `w1`, `spi`, `platform`, ...
    pub bus: Option<String>,
    /// Where on it: `0x48`, `28-0316a2797daa`, `spi0.0`, ...
    pub address: Option<String>,
    pub driver: Option<String>,
    /// Its node in the device tree.
    pub device_tree: Option<String>,
}

/// Where its value comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Source {
    /// Below the root, with a slash at the end.
    pub folder: String,
    /// The file with its value; `None` for a channel that has alarms only.
    pub file: Option<String>,
    /// Files with a factor and a summand for it (IIO).
    pub scale: Option<String>,
    pub offset: Option<String>,
    /// From the kernel's unit to ours.
    pub factor: f64,
    /// hwmon: the channel, and which of [`super::hwmon::LIMITS`] and [`super::hwmon::ALARMS`] it has.
    pub channel: String,
    pub limits: Vec<&'static str>,
    pub alarms: Vec<&'static str>,
}

/// What a sensor says now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// In the unit of its quantity; `None` for a channel that has alarms only.
    pub value: Option<f64>,
    /// The limits of the chip, by their names in hwmon.
    pub limits: Vec<(&'static str, f64)>,
    /// Alarms that are on, by their names in hwmon.
    pub alarms: Vec<&'static str>,
}

/// The sensors of a machine.
pub trait SensorPort: Send + Sync {
    /// Every sensor, by name. Reads texts of the kernel, and no device.
    fn list(&self) -> Vec<Sensor>;

    /// Reads one. May block: a 1-Wire thermometer measures for 750 ms.
    ///
    /// # Errors
    /// `NotFound` if it is gone; the driver's error; `InvalidData` for what is no plausible number.
    fn read(&self, sensor: &Sensor) -> io::Result<Reading>;
}
