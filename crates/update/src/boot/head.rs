//! The head of a boot area: what has to be gone for it not to start, and has to come last for it to start.

use super::fat::{FIRST, Fat};
use base::error::ToolError;

/// The longest head of an image, in bytes: a FAT32 of 512 MiB with clusters of 1 KiB needs 4 MiB. Also what is zeroed where the area says
/// nothing of itself.
pub const LONGEST_HEAD: u64 = 4 << 20;

/// How many bytes of a boot image are its head: the reserved sectors (with FAT32's copy of the first one) and all FATs.
/// `first` is the image's first 512 bytes, `size` its length.
///
/// # Errors
/// `failed_precondition` when it is no FAT file system, or its head is longer than [`LONGEST_HEAD`].
pub fn head_of_image(first: &[u8; FIRST], size: u64) -> Result<u64, ToolError> {
    let refuse = |why: String| {
        ToolError::precondition(format!("the boot image cannot be started: {why}"))
            .hint("build the bundle's boot image as FAT with larger clusters or fewer FATs")
    };
    let fat = Fat::parse(first, size).map_err(|fault| refuse(fault.to_string()))?;
    if fat.head > LONGEST_HEAD {
        return Err(refuse(format!("its FATs end at byte {}, the most is {LONGEST_HEAD}", fat.head)));
    }
    Ok(fat.head)
}

/// How many bytes from the start of a boot area of `size` bytes are to be zeroed so that nothing starts from it: its head, where
/// what is there says so, else [`LONGEST_HEAD`]. Sector 0 first: with it gone it is no file system any more.
pub fn head_to_zero(first: &[u8; FIRST], size: u64) -> u64 {
    let head = Fat::parse(first, size).map_or(LONGEST_HEAD, |fat| fat.head.min(LONGEST_HEAD));
    head.min(size)
}
