//! The factory reset: a file `factory-reset` on partition 1 that contains the word `reset`, written by somebody with
//! physical access to the card.
//!
//! The order ensures that a power cut never leaves half an identity: data is marked for wiping, the identity is removed
//! from one copy of the record and then from the other, the file is erased, the machine restarts. If interrupted, the
//! file still exists and all steps are repeated. Once it is erased, the loss of a copy cannot bring the identity back.

use super::{connections::SavedConnections, identity, partition};
use base::{
    error::ToolError,
    os::{Root, whole},
};
use std::io::Write;
use update::{
    disk::{Access, Area, Disk},
    slots::{StateRecord, StateStore},
};

/// The file's name on partition 1.
pub const FILE: &str = "factory-reset";
/// The required content: an empty file could not be erased.
const WORD: &str = "reset";
/// The initramfs wipes the data partition when it finds this file there.
pub const MARK: &str = "data/factory-reset";
/// Bytes that the initramfs checks before it formats the partition.
const BLANK: usize = 1 << 20;

/// The result.
pub enum ResetOutcome {
    No,
    /// The identity was removed and the machine must restart. With the faults.
    Done(Vec<String>),
}

/// Performs a reset if one is requested. `state` is the recorded state, before and after.
///
/// # Errors
/// Those of the card. The identity is then either completely in `state` or completely removed, and the next start
/// repeats all steps.
pub fn reset(
    disk: &dyn Disk,
    root: &Root,
    store: &mut StateStore,
    state: &mut StateRecord,
    faults: &mut Vec<String>,
) -> Result<ResetOutcome, ToolError> {
    let asked = match partition::find(disk, FILE)? {
        partition::FileContent::Bytes(bytes) => String::from_utf8_lossy(&bytes).trim().eq_ignore_ascii_case(WORD),
        // Erased: the reset is done.
        partition::FileContent::Nothing | partition::FileContent::Blank => return Ok(ResetOutcome::No),
        partition::FileContent::Unreadable(_) => false,
    };
    if !asked {
        faults.push(format!("{FILE} on partition 1 does not say {WORD:?}, and nothing was reset"));
        return Ok(ResetOutcome::No);
    }
    let wiped = match super::network::data_lost(root) {
        None => whole::replace(&root.path(MARK), 0o600, |file| file.write_all(b"reset\n"))
            .map_err(|error| format!("the data partition cannot be marked to be wiped: {error}")),
        Some(why) => {
            blank(disk).map_err(|error| format!("data was lost ({why}), and cannot be made anew: {}", error.advice()))
        }
    };
    let mut next = state.clone();
    next.kept.remove(identity::KEY);
    SavedConnections::forget(&mut next);
    super::halt::forget(&mut next);
    super::device_key::forget(&mut next);
    super::timezone::forget(&mut next);
    super::backup::SavedFiles::forget(&mut next);
    store.save(disk, &next)?;
    *state = next;
    store.save_again(disk, state, |other| other == state)?;
    partition::forget(disk, FILE)?;
    Ok(ResetOutcome::Done(wiped.err().into_iter().collect()))
}

/// A data partition that cannot be mounted has no place for a mark. If its beginning is zeros, the initramfs creates a
/// file system there.
fn blank(disk: &dyn Disk) -> Result<(), ToolError> {
    let data = disk.open(Area::Data, Access::Exclusive)?;
    let zeros = vec![0; usize::try_from(data.size()).map_or(BLANK, |size| size.min(BLANK))];
    data.write(0, &zeros).and_then(|()| data.flush()).map_err(|fault| {
        ToolError::unavailable(format!("its partition cannot be written: {fault}"))
            .hint("the card is failing: replace it")
    })
}
