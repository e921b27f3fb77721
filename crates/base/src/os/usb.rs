//! USB devices in sysfs (the kernel's Documentation/ABI/testing/sysfs-bus-usb), without root hubs, and what hangs on them.

use super::{Root, attached::AttachedDevice, if_there};
use std::io;

const DEVICES: &str = "sys/bus/usb/devices";

/// Names of classes (usb.org, "Defined Class Codes").
const CLASSES: [(u8, &str); 16] = [
    (0x01, "audio"),
    (0x02, "communications"),
    (0x03, "hid"),
    (0x06, "image"),
    (0x07, "printer"),
    (0x08, "storage"),
    (0x09, "hub"),
    (0x0a, "cdc_data"),
    (0x0b, "smart_card"),
    (0x0e, "video"),
    (0x10, "audio_video"),
    (0xdc, "diagnostic"),
    (0xe0, "wireless"),
    (0xef, "miscellaneous"),
    (0xfe, "application_specific"),
    (0xff, "vendor_specific"),
];

/// All devices, in the order of their ports. None on a machine without USB.
///
/// # Errors
/// Those of listing the folder. A device that vanishes while it is read is left out.
pub fn read(root: &Root) -> io::Result<Vec<AttachedDevice>> {
    let names = if_there(root.list(DEVICES))?.unwrap_or_default();
    // "1-1.2" is a device, "1-1.2:1.0" an interface of it, "usb1" a root hub.
    let devices = names.iter().filter(|name| name.contains('-') && !name.contains(':'));
    Ok(devices.filter_map(|name| device(root, name, &names)).collect())
}

fn device(root: &Root, id: &str, names: &[String]) -> Option<AttachedDevice> {
    let folder = format!("{DEVICES}/{id}");
    let line = |name: &str| root.line(&format!("{folder}/{name}")).ok();
    let mut device = AttachedDevice {
        id: id.to_owned(),
        vendor_id: line("idVendor")?,
        product_id: line("idProduct")?,
        manufacturer: line("manufacturer"),
        product: line("product"),
        serial: line("serial"),
        speed_mbps: line("speed").and_then(|speed| speed.parse().ok()),
        ..AttachedDevice::default()
    };
    device.add_class(class(line("bDeviceClass")));
    for interface in names.iter().filter(|name| name.strip_prefix(id).is_some_and(|rest| rest.starts_with(':'))) {
        let folder = format!("{DEVICES}/{interface}");
        device.add_class(class(root.line(&format!("{folder}/bInterfaceClass")).ok()));
        device.add_driver(root, &folder);
        device.add_nodes(root, &folder);
    }
    Some(device)
}

/// Class 0 of a device means that its interfaces say it.
fn class(hex: Option<String>) -> Option<String> {
    let code = u8::from_str_radix(&hex?, 16).ok().filter(|code| *code != 0)?;
    let known = CLASSES.iter().find(|(known, _)| *known == code);
    Some(known.map_or_else(|| format!("0x{code:02x}"), |(_, name)| (*name).to_owned()))
}
