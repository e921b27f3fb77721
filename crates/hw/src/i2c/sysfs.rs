//! Buses in sysfs: their names, and the devices bound to drivers (Documentation/i2c/i2c-sysfs.rst).

use super::port::{BoundDevice, I2cAdapter};
use crate::devices::Devices;
use base::os::Root;

const DEVICES: &str = "sys/bus/i2c/devices";

/// The buses with a device file below `root`, by number.
pub fn buses(root: &Root) -> Vec<I2cAdapter> {
    let number = |path: &str| path.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    let found = Devices::read(root).i2c.into_iter();
    let mut buses: Vec<I2cAdapter> =
        found.filter_map(|device| Some(I2cAdapter { number: number(&device.path)?, name: device.name })).collect();
    base::sort::sort_by_key(&mut buses, |bus| bus.number);
    buses
}

/// The devices on `bus` that a driver is bound to, by address: folders like `1-0068` with a link `driver`. 10-bit
/// addresses (`1-a068`) are not supported here.
pub fn holders(root: &Root, bus: u32) -> Vec<BoundDevice> {
    let prefix = format!("{bus}-00");
    let folders = root.list(DEVICES).unwrap_or_default();
    let mut held: Vec<BoundDevice> = folders
        .iter()
        .filter_map(|folder| {
            let address = u8::from_str_radix(folder.strip_prefix(&prefix)?, 16).ok()?;
            let link = root.link(&format!("{DEVICES}/{folder}/driver")).ok()?;
            let driver = link.file_name()?.to_str()?.to_owned();
            Some(BoundDevice { address, driver, device: root.line(&format!("{DEVICES}/{folder}/name")).ok() })
        })
        .collect();
    base::sort::sort_by_key(&mut held, |holder| holder.address);
    held
}
