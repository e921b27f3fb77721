//! Users' files on partition 1, read and erased in place through the block device, because the partition is never
//! mounted for writing on a running system.

use base::error::ToolError;
use std::io;
use update::{
    boot::{
        erase,
        fat::{Fat, LONGEST_TEXT},
    },
    disk::{Access, Area, Disk},
};

/// The state of a file.
pub enum FileContent {
    Nothing,
    /// Empty, or erased with zeros.
    Blank,
    Bytes(Vec<u8>),
    /// It exists but cannot be read, and why.
    Unreadable(String),
}

/// Finds a file in the root directory, of at most 64 KiB.
///
/// # Errors
/// `failed_precondition` when partition 1 is not FAT, `unavailable` when the card cannot be read.
pub fn find(disk: &dyn Disk, name: &str) -> Result<FileContent, ToolError> {
    find_up_to(disk, name, LONGEST_TEXT)
}

/// Finds a file in the root directory, of at most `most` bytes.
///
/// # Errors
/// Those of [`find`].
pub fn find_up_to(disk: &dyn Disk, name: &str, most: u64) -> Result<FileContent, ToolError> {
    let device = disk.open(Area::Config, Access::Read)?;
    let failed = |fault: io::Error| {
        let why = format!("partition 1 cannot be read: {fault}");
        let error = match fault.kind() {
            io::ErrorKind::InvalidData => ToolError::precondition(why),
            _ => ToolError::unavailable(why),
        };
        error.hint("write partition 1 anew; the agent restores what the machine starts by")
    };
    let fat = Fat::of(&*device).map_err(failed)?;
    let Some(entry) = fat.find(&*device, name).map_err(failed)? else { return Ok(FileContent::Nothing) };
    Ok(match fat.bytes(&*device, &entry, most) {
        Ok(bytes) if bytes.iter().all(|byte| *byte == 0) => FileContent::Blank,
        Ok(bytes) => FileContent::Bytes(bytes),
        Err(fault) => FileContent::Unreadable(fault.to_string()),
    })
}

/// Erases a file, if it exists.
///
/// # Errors
/// Those of [`erase`].
pub fn forget(disk: &dyn Disk, name: &str) -> Result<(), ToolError> {
    erase(disk, name).map(drop)
}
