//! What the firmware of a Raspberry Pi says of this start, in the device tree.

use crate::os::{Root, malformed};
use std::io;

/// What the bootloader says of itself and of this boot (Raspberry Pi documentation, "Device trees", `/chosen/bootloader`).
pub const BOOTLOADER: &str = "proc/device-tree/chosen/bootloader";

/// One cell of `/chosen/bootloader`: 32 bits, the highest byte first. `None` without the file.
pub fn cell(root: &Root, name: &str) -> io::Result<Option<u32>> {
    let file = format!("{BOOTLOADER}/{name}");
    match root.read_bytes(&file) {
        Ok(bytes) => match <[u8; 4]>::try_from(bytes.as_slice()) {
            Ok(bytes) => Ok(Some(u32::from_be_bytes(bytes))),
            Err(_) => Err(malformed(&file, &format!("it has {} bytes where a cell has 4", bytes.len()))),
        },
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The partition that the firmware of a Raspberry Pi booted; `None` where it does not say.
pub fn booted_partition(root: &Root) -> Option<u8> {
    cell(root, "partition").ok().flatten().and_then(|number| u8::try_from(number).ok())
}
