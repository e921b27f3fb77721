//! Why the machine started last: what the files say ([`base::os::reset`]), and on older firmware what `vcgencmd get_rsts` does.

use super::firmware::Firmware;
use base::os::{Root, reset};
use std::io;

pub use reset::{Cause, Reset};

/// Where the kernel keeps what it said when it crashed (`Documentation/admin-guide/ramoops.rst`).
const CRASHES: &str = "sys/fs/pstore";

/// The cause of the last reset; `None` where nothing tells.
///
/// # Errors
/// `InvalidData` when a source says what cannot be understood.
pub async fn read(root: &Root, firmware: &Firmware) -> io::Result<Option<Reset>> {
    if let Some(told) = reset::read(root)? {
        return Ok(Some(told));
    }
    match firmware.reset_word().await? {
        Some(word) => reset::of_register(root, word, "vcgencmd"),
        None => Ok(None),
    }
}

/// How many crashes of the kernel are kept; `None` where nobody keeps them, or not for this user to see.
pub fn crash_records(root: &Root) -> Option<usize> {
    let names = root.list(CRASHES).ok()?;
    Some(names.iter().filter(|name| name.starts_with("dmesg-")).count())
}
