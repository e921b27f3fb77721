//! The sensors of a simulated board.

use super::{
    device,
    port::{Reading, Sensor, SensorDevice, SensorPort, Source},
    quantity::{FAN, Quantity, TEMPERATURE, VOLTAGE},
};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Sensors whose values a test sets. Cheap to clone; clones share their state.
#[derive(Clone, Debug)]
pub struct SimulatedSensors(Arc<Mutex<Vec<(Sensor, f64)>>>);

/// Chip, place, channel, label, interface, what it measures, its bus, its driver, and its value at first.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static Quantity,
    &'static str,
    &'static str,
    f64,
);

#[rustfmt::skip]
const ROWS: [Row; 3] = [
    ("ds18b20", "28-0000075bcd15", "temp", None, "w1", &TEMPERATURE, "w1", "w1_slave_driver", 19.25),
    ("pwmfan", "cooling_fan", "fan1", None, "hwmon", &FAN, "platform", "pwm-fan", 2400.0),
    ("rp1_adc", "1f000c8000.adc", "in1", Some("supply"), "hwmon", &VOLTAGE, "platform", "rp1-adc", 5.08),
];

impl Default for SimulatedSensors {
    fn default() -> Self {
        let made = |(chip, place, channel, label, interface, quantity, bus, driver, value): Row| {
            let device = SensorDevice {
                bus: Some(bus.into()),
                address: Some(place.into()),
                driver: Some(driver.into()),
                device_tree: None,
            };
            let sensor = Sensor {
                name: device::name(chip, place, channel),
                quantity,
                label: label.map(str::to_owned),
                chip: chip.to_owned(),
                interface,
                device,
                source: Source::default(),
            };
            (sensor, value)
        };
        Self(Arc::new(Mutex::new(ROWS.into_iter().map(made).collect())))
    }
}

impl SimulatedSensors {
    /// Sets the value of the sensor of that name; `None` takes it off the board.
    pub fn set(&self, name: &str, value: Option<f64>) {
        let mut all = self.state();
        match value {
            Some(value) => all.iter_mut().filter(|(sensor, _)| sensor.name == name).for_each(|(_, now)| *now = value),
            None => all.retain(|(sensor, _)| sensor.name != name),
        }
    }

    /// Every change is a single step, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, Vec<(Sensor, f64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SensorPort for SimulatedSensors {
    fn list(&self) -> Vec<Sensor> {
        self.state().iter().map(|(sensor, _)| sensor.clone()).collect()
    }

    fn read(&self, sensor: &Sensor) -> io::Result<Reading> {
        let all = self.state();
        let found = all.iter().find(|(known, _)| known.name == sensor.name);
        let (_, value) = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(Reading { value: Some(*value), ..Reading::default() })
    }
}
