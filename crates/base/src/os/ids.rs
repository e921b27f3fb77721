//! The identity of machine and boot: machine-id(5) and the kernel's boot id.

use super::{Root, malformed};
use std::io;

/// `/etc/machine-id`: constant for the life of an installation. Confidential by machine-id(5), so it is never part of
/// an answer; only derived values leave the machine.
///
/// # Errors
/// `NotFound` before first boot, `InvalidData` when it is not 32 hexadecimal digits ("uninitialized" included).
pub fn machine(root: &Root) -> io::Result<String> {
    let file = "etc/machine-id";
    let id = root.line(file)?;
    if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(id.to_ascii_lowercase())
    } else {
        Err(malformed(file, "it is not 32 hexadecimal digits"))
    }
}

/// `/proc/sys/kernel/random/boot_id`: different after every boot.
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when it is not a UUID.
pub fn boot(root: &Root) -> io::Result<String> {
    let file = "proc/sys/kernel/random/boot_id";
    let id = root.line(file)?;
    let groups: Vec<usize> = id.split('-').map(str::len).collect();
    if groups == [8, 4, 4, 4, 12] && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()) {
        Ok(id)
    } else {
        Err(malformed(file, "it is not a UUID"))
    }
}
