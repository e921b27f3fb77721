//! Files that a boot image must not contain: a Raspberry Pi's firmware runs `recovery.bin` before anything else, and
//! that program writes `pieeprom.upd` and `vl805.bin` into the board's own flash (Raspberry Pi documentation,
//! "Raspberry Pi boot EEPROM"). A bootloader is updated only by a separate operation that a person approves, never by
//! an image.

use super::BundleError;
use crate::boot::fat::{Fat, ReadAt};
use std::io;

/// Whether a file of this name, in any folder, is rejected: `recovery.*`, `pieeprom.*` (`.upd`, `.sig`, `.bin`),
/// `vl805.*`; case-insensitive.
pub fn is_forbidden(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    ["recovery.", "pieeprom.", "vl805."].iter().any(|stem| name.starts_with(stem))
}

/// Reads the names of all files of a boot image (FAT12, FAT16 or FAT32) of `size` bytes, and rejects those that
/// [`is_forbidden`] matches.
///
/// `read` fills its buffer from an offset in the image; it is called for whole pages of 4096 bytes (the last may be
/// shorter), so that it may bypass the page cache. Bounded: 8 KiB of memory, and at most 4 MiB of directories.
///
/// # Errors
/// [`BundleError::Forbidden`]; [`BundleError::Malformed`] when it is not a FAT, or its directories exceed the limit; [`BundleError::Io`].
pub fn check_boot(size: u64, read: &mut ReadAt<'_>) -> Result<(), BundleError> {
    let seen = &mut |name: &str| {
        if is_forbidden(name) { Err(Found(BundleError::Forbidden { file: name.to_owned() })) } else { Ok(()) }
    };
    Fat::names(size, read, seen).map_err(|found| found.0)
}

struct Found(BundleError);

impl From<io::Error> for Found {
    fn from(error: io::Error) -> Self {
        const WHAT: &str = "the boot image";
        Self(match error.kind() {
            io::ErrorKind::InvalidData => BundleError::malformed(WHAT, error.to_string()),
            _ => BundleError::io(WHAT, &error),
        })
    }
}
