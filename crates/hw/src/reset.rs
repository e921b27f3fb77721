//! The cause of the last reset: from files ([`base::os::reset`]), or on older firmware from `vcgencmd get_rsts`.

use super::firmware::Firmware;
use base::os::{Root, reset};
use std::io;

pub use reset::{Cause, ResetInfo};

/// The kernel's stored crash messages (`Documentation/admin-guide/ramoops.rst`).
const CRASHES: &str = "sys/fs/pstore";

/// The cause of the last reset; `None` when unknown.
///
/// # Errors
/// `InvalidData` when a source cannot be parsed.
pub async fn read(root: &Root, firmware: &Firmware) -> io::Result<Option<ResetInfo>> {
    if let Some(told) = reset::read(root)? {
        return Ok(Some(told));
    }
    match firmware.reset_word().await? {
        Some(word) => reset::of_register(root, word, "vcgencmd"),
        None => Ok(None),
    }
}

/// Number of stored kernel crashes; `None` when they are not stored or not readable.
pub fn crash_records(root: &Root) -> Option<usize> {
    let names = root.list(CRASHES).ok()?;
    Some(names.iter().filter(|name| name.starts_with("dmesg-")).count())
}
