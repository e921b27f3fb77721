//! The processor's temperature, from the first available of four sources (docs/contract/system.md).

use super::{board::Board, firmware::Firmware};
use base::os::{Root, hwmon, thermal, uptime};
use std::io;

/// A temperature with its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemperatureReading {
    /// Degrees Celsius.
    pub celsius: f64,
    pub source: TemperatureSource,
}

/// In the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemperatureSource {
    /// The simulated board, which excludes the others.
    Simulated,
    /// The zone of `/sys/class/thermal` whose type is the processor's.
    ThermalZone,
    /// `vcgencmd measure_temp`
    Vcgencmd,
    /// `/sys/class/hwmon`
    Hwmon,
    /// The processor's sensors that the sysinfo crate finds: other layouts of hwmon.
    Sysinfo,
}

/// The temperature; `None` where the machine has no sensor.
///
/// # Errors
/// The first source's error, when there are sensors and none works.
pub async fn read(root: &Root, board: &Board, firmware: &Firmware) -> io::Result<Option<TemperatureReading>> {
    let mut fault: Option<io::Error> = None;
    let mut found = |source: TemperatureSource, celsius: io::Result<f64>| match celsius {
        Ok(celsius) => Some(TemperatureReading { celsius, source }),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                fault.get_or_insert(error);
            }
            None
        }
    };
    if let Some(simulated) = &board.simulated {
        let celsius = simulated.celsius(uptime::read(root)?)?;
        return Ok(Some(TemperatureReading { celsius, source: TemperatureSource::Simulated }));
    }
    if let Some(reading) = found(TemperatureSource::ThermalZone, thermal::processor(root)) {
        return Ok(Some(reading));
    }
    let measured = firmware.measured_celsius().await;
    if let Some(reading) = measured.and_then(|celsius| found(TemperatureSource::Vcgencmd, celsius)) {
        return Ok(Some(reading));
    }
    if let Some(reading) = found(TemperatureSource::Hwmon, processor(hwmon::temperatures(root))) {
        return Ok(Some(reading));
    }
    if let Some(celsius) = from_sysinfo(root) {
        return Ok(Some(TemperatureReading { celsius, source: TemperatureSource::Sysinfo }));
    }
    fault.map_or(Ok(None), Err)
}

/// The processor's sensor, and never that of another part.
fn processor(sensors: io::Result<Vec<hwmon::Sensor>>) -> io::Result<f64> {
    let sensors = sensors?;
    let chosen = sensors.iter().find(|sensor| thermal::is_processor(&sensor.chip));
    chosen.map(|sensor| sensor.celsius).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// sysinfo always reads this machine, so it is used only when `root` is this machine's.
fn from_sysinfo(root: &Root) -> Option<f64> {
    if !root.is_system() {
        return None;
    }
    let components = sysinfo::Components::new_with_refreshed_list();
    let processors = components.iter().filter(|component| thermal::is_processor(component.label()));
    let measured = processors.filter_map(|one| one.temperature()).find(|celsius| celsius.is_finite());
    measured.map(f64::from)
}
