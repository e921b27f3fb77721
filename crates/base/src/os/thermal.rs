//! Thermal zones: `/sys/class/thermal/thermal_zone*` (`Documentation/driver-api/thermal/sysfs-api.rst`).

use super::{Root, malformed};
use std::io;

/// Plausible range in degrees Celsius; drivers may report nonsense outside of it.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = -60.0..=200.0;

/// The temperature of one zone in degrees Celsius. Zone 0 is the processor on every Raspberry Pi.
///
/// # Errors
/// `NotFound` without such a zone, `InvalidData` when it is not a plausible number, and the driver's error when it
/// cannot measure (a disabled zone returns `EAGAIN` or `ENODATA`).
pub fn zone(root: &Root, number: u32) -> io::Result<f64> {
    celsius(root, &format!("sys/class/thermal/thermal_zone{number}/temp"))
}

/// A sysfs file of millidegrees, converted to degrees.
pub(super) fn celsius(root: &Root, file: &str) -> io::Result<f64> {
    let degrees = root.number(file)? as f64 / 1000.0;
    if PLAUSIBLE.contains(&degrees) { Ok(degrees) } else { Err(malformed(file, "no chip has that temperature")) }
}
