//! Thermal zones: `/sys/class/thermal/thermal_zone*` (`Documentation/driver-api/thermal/sysfs-api.rst`).

use super::{Root, malformed};
use std::io;

/// Plausible range in degrees Celsius; drivers may report nonsense outside of it.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = -60.0..=200.0;

const ZONES: &str = "sys/class/thermal";
/// What types of zones, chips and sensors of the processor, or of the chip that it is on, are called: `cpu-thermal` on
/// every Raspberry Pi, `soc_thermal`, `x86_pkg_temp`, `coretemp`, `k10temp`.
const PROCESSORS: [&str; 5] = ["cpu", "soc", "pkg_temp", "coretemp", "k10temp"];

/// Whether a zone, chip or sensor of that name is the processor's. Others are of a radio, a disk or a battery, or of
/// nobody knows what (`acpitz`).
pub fn is_processor(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PROCESSORS.iter().any(|part| name.contains(part))
}

/// The temperature of the processor's zone in degrees Celsius; of several, the first. Zones have the order in which the
/// drivers came, so that only the type says which is which.
///
/// # Errors
/// `NotFound` without such a zone; those of [`zone`].
pub fn processor(root: &Root) -> io::Result<f64> {
    let names = root.list(ZONES)?;
    let numbers = names.iter().filter_map(|name| name.strip_prefix("thermal_zone")?.parse().ok());
    let mut of_processors = numbers.filter(|number: &u32| {
        root.line(&format!("{ZONES}/thermal_zone{number}/type")).is_ok_and(|name| is_processor(&name))
    });
    zone(root, of_processors.next().ok_or(io::ErrorKind::NotFound)?)
}

/// The temperature of the zone of that number in degrees Celsius.
///
/// # Errors
/// `NotFound` without such a zone, `InvalidData` when it is not a plausible number, and the driver's error when it
/// cannot measure (a disabled zone returns `EAGAIN` or `ENODATA`).
pub fn zone(root: &Root, number: u32) -> io::Result<f64> {
    celsius(root, &format!("{ZONES}/thermal_zone{number}/temp"))
}

/// A sysfs file of millidegrees, converted to degrees.
pub(super) fn celsius(root: &Root, file: &str) -> io::Result<f64> {
    let degrees = root.number(file)? as f64 / 1000.0;
    if PLAUSIBLE.contains(&degrees) { Ok(degrees) } else { Err(malformed(file, "no chip has that temperature")) }
}
