//! Files that a boot image must not hold: the firmware of a Raspberry Pi runs `recovery.bin` before anything else, and that program
//! writes `pieeprom.upd` and `vl805.bin` into the board's own flash (Raspberry Pi documentation, "Raspberry Pi boot EEPROM"). A bootloader
//! is updated by an operation of its own that a person approves, never on the way of an image.

use super::Fault;
use crate::boot::fat::{Fat, ReadAt};
use std::io;

/// Whether a file of this name, in any folder, is refused: `recovery.*`, `pieeprom.*` (`.upd`, `.sig`, `.bin`), `vl805.*`; in any case of letters.
pub fn is_forbidden(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    ["recovery.", "pieeprom.", "vl805."].iter().any(|stem| name.starts_with(stem))
}

/// Reads the names of all files of a boot image (FAT12, FAT16 or FAT32) of `size` bytes, and refuses those that [`is_forbidden`] tells.
///
/// `read` fills its buffer from a place in the image; it is asked for whole pages of 4096 bytes (the last may be shorter), so that it may read past
/// the page cache. Bounded: 8 KiB of memory, and at most 4 MiB of directories.
///
/// # Errors
/// [`Fault::Forbidden`]; [`Fault::Malformed`] for what is no FAT, or has directories without an end; [`Fault::Io`].
pub fn check_boot(size: u64, read: &mut ReadAt<'_>) -> Result<(), Fault> {
    let seen = &mut |name: &str| {
        if is_forbidden(name) { Err(Found(Fault::Forbidden { file: name.to_owned() })) } else { Ok(()) }
    };
    Fat::names(size, read, seen).map_err(|found| found.0)
}

struct Found(Fault);

impl From<io::Error> for Found {
    fn from(error: io::Error) -> Self {
        const WHAT: &str = "the boot image";
        Self(match error.kind() {
            io::ErrorKind::InvalidData => Fault::malformed(WHAT, error.to_string()),
            _ => Fault::io(WHAT, &error),
        })
    }
}
