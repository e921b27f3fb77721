//! The processor's clock: `/sys/devices/system/cpu/cpu0/cpufreq` (`Documentation/admin-guide/pm/cpufreq.rst`).

use super::{Root, malformed};
use std::io;

const FILE: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";

/// What the governor asks of core 0 now, in hertz. All cores of a Raspberry Pi run at one clock.
///
/// # Errors
/// `NotFound` without frequency scaling (most virtual machines), `InvalidData` when it is no positive number.
pub fn hertz(root: &Root) -> io::Result<u64> {
    let kilohertz = root.number(FILE)?;
    u64::try_from(kilohertz)
        .ok()
        .filter(|kilohertz| *kilohertz > 0)
        .and_then(|kilohertz| kilohertz.checked_mul(1000))
        .ok_or_else(|| malformed(FILE, "it is no positive number of kilohertz"))
}
