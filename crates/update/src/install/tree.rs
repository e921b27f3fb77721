//! Computes the root's hash tree from the data on the card.

use super::{frame::InstallProgress, hooks::InstallObserver, writer::card};
use crate::{
    bundle::tree::{HashTreeLayout, Hasher, SALT},
    disk::BlockDevice,
};
use base::error::ToolError;

/// Bytes of one read.
const PIECE: u64 = 256 << 10;
/// Bytes between progress reports.
const TELL: u64 = 8 << 20;

/// Reads all the data, which takes as long as the card takes. `so_far` is called repeatedly, because no writes report
/// progress meanwhile.
///
/// # Errors
/// `unavailable` when the card cannot be read; `cancelled`.
pub(super) fn compute(
    root: &dyn BlockDevice,
    layout: HashTreeLayout,
    watch: &dyn InstallObserver,
    so_far: &InstallProgress,
) -> Result<Vec<u8>, ToolError> {
    let mut hasher = Hasher::new(layout, SALT);
    let mut piece = Vec::new();
    let mut at = 0;
    while at < layout.data {
        if watch.stopped() {
            return Err(ToolError::cancelled("the update"));
        }
        if at.is_multiple_of(TELL) {
            watch.progress(so_far);
        }
        piece.resize((layout.data - at).min(PIECE) as usize, 0);
        let failed = |error| card(&format!("reading the target's root area at {at}"), &error);
        root.read(at, &mut piece).map_err(failed)?;
        hasher.feed(&piece);
        at += piece.len() as u64;
    }
    Ok(hasher.finish())
}
