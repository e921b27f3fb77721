//! The processor's clock: `/sys/devices/system/cpu/cpu0/cpufreq` (`Documentation/admin-guide/pm/cpufreq.rst`).

use super::{Root, malformed};
use std::io;

const FILE: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";

/// The frequency that the governor requests for core 0, in hertz. All cores of a Raspberry Pi share one clock.
///
/// # Errors
/// `NotFound` without frequency scaling (most virtual machines), `InvalidData` when it is not a positive number.
pub fn hertz(root: &Root) -> io::Result<u64> {
    let kilohertz = root.number(FILE)?;
    u64::try_from(kilohertz)
        .ok()
        .filter(|kilohertz| *kilohertz > 0)
        .and_then(|kilohertz| kilohertz.checked_mul(1000))
        .ok_or_else(|| malformed(FILE, "it is no positive number of kilohertz"))
}
