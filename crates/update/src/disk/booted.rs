//! What the firmware of a Raspberry Pi says of this start, in the device tree.

use base::os::Root;
use std::io;

/// What the bootloader says of itself and of this boot (Raspberry Pi documentation, "Device trees", `/chosen/bootloader`).
pub const BOOTLOADER: &str = "proc/device-tree/chosen/bootloader";

/// One cell of `/chosen/bootloader`. `None` without the file.
pub fn cell(root: &Root, name: &str) -> io::Result<Option<u32>> {
    root.cell(&format!("{BOOTLOADER}/{name}"))
}

/// The partition that the firmware of a Raspberry Pi booted; `None` where it does not say.
pub fn booted_partition(root: &Root) -> Option<u8> {
    cell(root, "partition").ok().flatten().and_then(|number| u8::try_from(number).ok())
}
