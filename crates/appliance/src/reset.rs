//! The factory reset: a file `factory-reset` on partition 1 with the word `reset` in it, put there by somebody who has the card in a hand.
//!
//! In an order that no power cut turns into half an identity: data is marked to be wiped, the identity goes, from one copy of the record and
//! then from the other, the file is erased, the machine starts anew. Cut anywhere, the file is still there, and all of it is done again; once it
//! is erased, no copy that is lost brings the identity back.

use super::{connections::Connections, identity, partition};
use base::{
    error::ToolError,
    os::{Root, whole},
};
use std::io::Write;
use update::{
    disk::{Access, Area, Disk},
    slots::{State, Store},
};

/// Its name on partition 1.
pub const FILE: &str = "factory-reset";
/// What it has to say: an empty one could not be erased.
const WORD: &str = "reset";
/// The initramfs empties the data partition when it finds this there.
pub const MARK: &str = "data/factory-reset";
/// Bytes that the initramfs looks at before it formats anything.
const BLANK: usize = 1 << 20;

/// What became of it.
pub enum Reset {
    No,
    /// The identity is gone; the machine has to start anew. With what went wrong.
    Done(Vec<String>),
}

/// Performs a reset where one is asked for. `state` is what is recorded, then and afterwards.
///
/// # Errors
/// Those of the card; then nothing of the identity is gone from `state`, or all of it, and the next start begins again.
pub fn reset(
    disk: &dyn Disk,
    root: &Root,
    store: &mut Store,
    state: &mut State,
    faults: &mut Vec<String>,
) -> Result<Reset, ToolError> {
    let asked = match partition::find(disk, FILE)? {
        partition::Found::Bytes(bytes) => String::from_utf8_lossy(&bytes).trim().eq_ignore_ascii_case(WORD),
        // Erased: it was done.
        partition::Found::Nothing | partition::Found::Blank => return Ok(Reset::No),
        partition::Found::Unreadable(_) => false,
    };
    if !asked {
        faults.push(format!("{FILE} on partition 1 does not say {WORD:?}, and nothing was reset"));
        return Ok(Reset::No);
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
    Connections::forget(&mut next);
    store.save(disk, &next)?;
    *state = next;
    store.save_again(disk, state, |other| other == state)?;
    partition::forget(disk, FILE)?;
    Ok(Reset::Done(wiped.err().into_iter().collect()))
}

/// A data partition that nothing can mount has no place for a mark: with zeros at its beginning the initramfs makes a file system there.
fn blank(disk: &dyn Disk) -> Result<(), ToolError> {
    let data = disk.open(Area::Data, Access::Exclusive)?;
    let zeros = vec![0; usize::try_from(data.size()).map_or(BLANK, |size| size.min(BLANK))];
    data.write(0, &zeros).and_then(|()| data.flush()).map_err(|fault| {
        ToolError::unavailable(format!("its partition cannot be written: {fault}"))
            .hint("the card is failing: replace it")
    })
}
