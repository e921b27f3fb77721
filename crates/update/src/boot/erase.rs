//! Erases a file of partition 1 (a provisioning file with secrets) in place, without a mount.

use super::fat::Fat;
use crate::disk::{Access, Area, Disk};
use base::error::{ErrorCode, ToolError};
use std::io;

/// Zeros the content of a file in the root directory of partition 1, in place; its name and its size stay. Returns the
/// number of bytes zeroed, or `None` when there is no such file. A card may keep copies of the old content in its
/// flash, which cannot be detected or erased: secrets that were on it must be changed anyway.
///
/// # Errors
/// `failed_precondition` when partition 1 is not a FAT or the file's chain is broken (then all that could be reached is
/// erased), `unavailable` for errors of the card, `verification_failed` when it reads back something else, `conflict`
/// while it is mounted read-write.
pub fn erase(disk: &dyn Disk, name: &str) -> Result<Option<u64>, ToolError> {
    let device = disk.open(Area::Config, Access::Shared)?;
    let wrap = |fault: io::Error| match fault.kind() {
        io::ErrorKind::InvalidData => {
            ToolError::precondition(format!("{name} on partition 1 cannot be erased whole: {fault}"))
                .with("file", name)
                .hint("write partition 1 anew, and change the secrets that were in the file")
        }
        _ => ToolError::unavailable(format!("partition 1 cannot be read or written: {fault}"))
            .with("file", name)
            .hint("the card may be failing, or read-only: change the secrets that were in the file"),
    };
    let fat = Fat::of(&*device).map_err(wrap)?;
    let Some(entry) = fat.find(&*device, name).map_err(wrap)? else { return Ok(None) };
    let zeroed = fat.each_piece(&*device, &entry, |at, length| device.write(at, &vec![0; length]));
    // Flushed even after an error: what was reached before a broken link is erased.
    device.flush().map_err(wrap)?;
    zeroed.map_err(wrap)?;
    let mut left = false;
    let seen = fat.each_piece(&*device, &entry, |at, length| {
        let mut piece = vec![0xff; length];
        device.read_back(at, &mut piece)?;
        left |= piece.iter().any(|byte| *byte != 0);
        Ok(())
    });
    seen.map_err(wrap)?;
    if left {
        let why = format!("{name} was erased and reads back as it was");
        return Err(ToolError::new(ErrorCode::VerificationFailed, why).hint("the card is failing: destroy it"));
    }
    Ok(Some(u64::from(entry.size)))
}
