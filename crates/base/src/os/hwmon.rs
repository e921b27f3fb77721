//! Temperature inputs of hardware monitors: `/sys/class/hwmon` (`Documentation/hwmon/sysfs-interface.rst`).

use super::{Root, thermal::celsius};
use std::io;

const DIRECTORY: &str = "sys/class/hwmon";
/// What w1_therm calls thermometers on 1-Wire here. They hang on a cable, away from the board, and take 750 ms.
pub const W1_THERM: &str = "w1_slave_temp";

/// One temperature input.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// The driver: `cpu_thermal`, `rp1_adc`, `nvme`.
    pub chip: String,
    pub celsius: f64,
}

/// Every readable input, in the kernel's order, but for thermometers on 1-Wire. Inputs that return an error (a sleeping disk) are skipped.
///
/// # Errors
/// `NotFound` without `/sys/class/hwmon`; the first fault when there are inputs but none can be read.
pub fn temperatures(root: &Root) -> io::Result<Vec<Sensor>> {
    let mut sensors = Vec::new();
    let mut fault = None;
    for chip in root.list(DIRECTORY)?.iter().filter(|chip| chip.starts_with("hwmon")) {
        let folder = format!("{DIRECTORY}/{chip}");
        let name = root.line(&format!("{folder}/name")).unwrap_or_else(|_| chip.clone());
        if name == W1_THERM {
            continue;
        }
        for input in root.list(&folder)? {
            if !(input.starts_with("temp") && input.ends_with("_input")) {
                continue;
            }
            match celsius(root, &format!("{folder}/{input}")) {
                Ok(celsius) => sensors.push(Sensor { chip: name.clone(), celsius }),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
    }
    match fault {
        Some(fault) if sensors.is_empty() => Err(fault),
        _ => Ok(sensors),
    }
}
