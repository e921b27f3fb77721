//! PCI devices in sysfs (the kernel's Documentation/ABI/testing/sysfs-bus-pci): of a Raspberry Pi 5, of a Compute Module,
//! of a PC.

use super::{Root, attached::AttachedDevice, if_there};
use std::io;

const DEVICES: &str = "sys/bus/pci/devices";

/// Names of base classes (PCI Code and ID Assignment Specification, 1.1).
const CLASSES: [&str; 14] = [
    "unclassified",
    "storage",
    "network",
    "display",
    "multimedia",
    "memory",
    "bridge",
    "communications",
    "system",
    "input",
    "docking",
    "processor",
    "serial_bus",
    "wireless",
];

/// All devices, in the order of their addresses. None on a machine without PCI.
///
/// # Errors
/// Those of listing the folder. A device that vanishes while it is read is left out.
pub fn read(root: &Root) -> io::Result<Vec<AttachedDevice>> {
    let names = if_there(root.list(DEVICES))?.unwrap_or_default();
    Ok(names.into_iter().filter_map(|name| device(root, name)).collect())
}

fn device(root: &Root, id: String) -> Option<AttachedDevice> {
    let folder = format!("{DEVICES}/{id}");
    // "0x1106"
    let hex = |name: &str| {
        let line = root.line(&format!("{folder}/{name}")).ok()?;
        line.strip_prefix("0x").map(str::to_owned)
    };
    let mut device =
        AttachedDevice { id, vendor_id: hex("vendor")?, product_id: hex("device")?, ..AttachedDevice::default() };
    // Six digits: base class, subclass, interface.
    let base = hex("class").and_then(|digits| usize::from_str_radix(digits.get(..2)?, 16).ok());
    device.add_class(base.map(|base| CLASSES.get(base).map_or_else(|| format!("0x{base:02x}"), |&name| name.into())));
    device.add_driver(root, &folder);
    device.add_nodes(root, &folder);
    Some(device)
}
