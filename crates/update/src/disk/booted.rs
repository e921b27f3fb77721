//! What a Raspberry Pi's firmware reports of this boot, in the device tree.

use base::os::Root;
use std::io;

/// The bootloader's properties (Raspberry Pi documentation, "Device trees", `/chosen/bootloader`).
pub const BOOTLOADER: &str = "proc/device-tree/chosen/bootloader";

/// Reads one cell of `/chosen/bootloader`. `None` without the file.
pub fn cell(root: &Root, name: &str) -> io::Result<Option<u32>> {
    root.cell(&format!("{BOOTLOADER}/{name}"))
}

/// The partition that a Raspberry Pi's firmware booted; `None` when it is not reported.
pub fn booted_partition(root: &Root) -> Option<u8> {
    cell(root, "partition").ok().flatten().and_then(|number| u8::try_from(number).ok())
}
