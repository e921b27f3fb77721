//! The cause of the last reset, from files: PM_RSTS in the device tree, the Raspberry Pi 5's power controller, a
//! watchdog.
//!
//! A Raspberry Pi's firmware passes the reset register PM_RSTS to the kernel in the device tree, as `rsts` or `pm_rsts`
//! (Raspberry Pi documentation, `config.txt`, "The boot partition", and "Device trees, overlays and parameters"), the
//! Raspberry Pi 5 also the power controller's record. Linux restarts these boards through their watchdog, so a reboot
//! and a hang look the same there: "restart" means either.

use super::Root;
use std::io;

const RSTS: [&str; 2] = ["proc/device-tree/chosen/bootloader/rsts", "proc/device-tree/chosen/bootloader/pm_rsts"];
const POWER: &str = "proc/device-tree/chosen/power/power_reset";
const WATCHDOGS: &str = "sys/class/watchdog";

/// What made the machine start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Cause {
    /// The supply was switched on, or came back.
    PowerOn,
    /// A reboot or the watchdog: the chip does not tell which.
    Restart,
    /// The watchdog.
    Watchdog,
    /// A program asked the chip itself.
    Software,
    Debugger,
    UnderVoltage,
    OverVoltage,
    OverTemperature,
    /// The board's enable line, its power button for one.
    SwitchedOff,
}

impl Cause {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PowerOn => "power_on",
            Self::Restart => "restart",
            Self::Watchdog => "watchdog",
            Self::Software => "software",
            Self::Debugger => "debugger",
            Self::UnderVoltage => "under_voltage",
            Self::OverVoltage => "over_voltage",
            Self::OverTemperature => "over_temperature",
            Self::SwitchedOff => "switched_off",
        }
    }
}

/// The last reset, with the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetInfo {
    pub cause: Cause,
    /// `device_tree`, `power_controller`, `watchdog` or `vcgencmd`.
    pub source: &'static str,
}

/// The cause of the last reset; `None` when no file has it.
///
/// # Errors
/// `InvalidData` when a source cannot be parsed.
pub fn read(root: &Root) -> io::Result<Option<ResetInfo>> {
    if let Some(cause) = by_watchdog(root)? {
        return Ok(Some(ResetInfo { cause, source: "watchdog" }));
    }
    match in_device_tree(root)? {
        Some(word) => of_register(root, word, "device_tree"),
        None => Ok(None),
    }
}

/// The meaning of PM_RSTS on this machine, read as `word` from `source`.
///
/// # Errors
/// `InvalidData` when the power controller's record cannot be parsed.
pub fn of_register(root: &Root, word: u32, source: &'static str) -> io::Result<Option<ResetInfo>> {
    let cause = by_register(word);
    if cause == Some(Cause::PowerOn)
        && let Some(cause) = by_power_controller(root)?
    {
        return Ok(Some(ResetInfo { cause, source: "power_controller" }));
    }
    Ok(cause.map(|cause| ResetInfo { cause, source }))
}

/// PM_RSTS. Only these four bits: the others hold the number of the boot partition (`bcm2835_wdt.c`).
fn by_register(word: u32) -> Option<Cause> {
    let bits = [(5, Cause::Restart), (9, Cause::Software), (1, Cause::Debugger), (12, Cause::PowerOn)];
    bits.into_iter().find(|(bit, _)| word >> bit & 1 == 1).map(|(_, cause)| cause)
}

fn by_power_controller(root: &Root) -> io::Result<Option<Cause>> {
    let Some(word) = root.cell(POWER)? else { return Ok(None) };
    let bits = [
        (1, Cause::UnderVoltage),
        (0, Cause::OverVoltage),
        (2, Cause::OverTemperature),
        (4, Cause::Watchdog),
        (3, Cause::SwitchedOff),
    ];
    Ok(bits.into_iter().find(|(bit, _)| word >> bit & 1 == 1).map(|(_, cause)| cause))
}

/// WDIOF_* of `include/uapi/linux/watchdog.h`. The Raspberry Pi's own watchdog does not report it: 0.
fn by_watchdog(root: &Root) -> io::Result<Option<Cause>> {
    let bits = [(5, Cause::Watchdog), (0, Cause::OverTemperature), (4, Cause::UnderVoltage), (6, Cause::OverVoltage)];
    for name in root.list(WATCHDOGS).unwrap_or_default() {
        let word = match root.number(&format!("{WATCHDOGS}/{name}/bootstatus")) {
            Ok(word) => word,
            Err(fault) if fault.kind() == io::ErrorKind::InvalidData => return Err(fault),
            Err(_) => continue,
        };
        if let Some((_, cause)) = bits.into_iter().find(|(bit, _)| word >> bit & 1 == 1) {
            return Ok(Some(cause));
        }
    }
    Ok(None)
}

fn in_device_tree(root: &Root) -> io::Result<Option<u32>> {
    for file in RSTS {
        if let Some(word) = root.cell(file)? {
            return Ok(Some(word));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_partition_is_no_cause() {
        // Partition 63, which means halt, is 0x555.
        for (word, cause) in [
            (0x1000, Some(Cause::PowerOn)),
            (0x20, Some(Cause::Restart)),
            (0x20 | 0x555, Some(Cause::Restart)),
            (0x1020, Some(Cause::Restart)),
            (0x200, Some(Cause::Software)),
            (0x2, Some(Cause::Debugger)),
            (0x555, None),
            (0, None),
        ] {
            assert_eq!(by_register(word), cause, "{word:#x}");
        }
    }
}
