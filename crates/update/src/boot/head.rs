//! The head of a boot area: without it nothing starts from the area, so it is erased first and written last.

use super::fat::{FIRST, Fat};
use base::error::ToolError;

/// The longest head of an image, in bytes: a FAT32 of 512 MiB with clusters of 1 KiB needs 4 MiB. Also the size that is
/// zeroed when the area's content is not a FAT.
pub const LONGEST_HEAD: u64 = 4 << 20;

/// The size of a boot image's head: the reserved sectors (with FAT32's copy of the first one) and all FATs. `first` is
/// the image's first 512 bytes, `size` its length.
///
/// # Errors
/// `failed_precondition` when it is not a FAT file system, or its head is longer than [`LONGEST_HEAD`].
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

/// How many bytes from the start of a boot area of `size` bytes must be zeroed so that nothing starts from it: its head
/// if it holds a FAT, otherwise [`LONGEST_HEAD`]. Sector 0 goes first: without it the area is no file system.
pub fn head_to_zero(first: &[u8; FIRST], size: u64) -> u64 {
    let head = Fat::parse(first, size).map_or(LONGEST_HEAD, |fat| fat.head.min(LONGEST_HEAD));
    head.min(size)
}
