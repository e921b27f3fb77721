//! Reads everything back from the medium itself: one thread reads, one hashes blocks, one hashes images.

use super::{
    hooks::InstallObserver,
    plan::BootHead,
    writer::{SlotAreas, card},
};
use crate::{
    bundle::{BlockIndex, BundleError, Digest, Image, ImageKind},
    disk::BlockDevice,
};
use base::error::{ErrorCode, ToolError};
use ring::digest::{Context, SHA256};
use std::sync::mpsc::{channel, sync_channel};

/// Bytes per read, unless blocks are larger: longer reads are hardly faster on cards.
const PIECE: usize = 256 << 10;
/// Reads ahead of the hash.
const AHEAD: usize = 1;

/// Compares the medium with the index, block by block, and each image with its hash in `images`, the manifest's. The
/// head of the boot image is taken from memory: it is zero on the medium. `tell` is called with the number of bytes
/// compared.
///
/// # Errors
/// `verification_failed` naming the first block, or the image, that differs; `unavailable` when the card cannot be
/// read; `cancelled`.
pub(super) fn all(
    target: &mut SlotAreas,
    index: &BlockIndex,
    head: &BootHead,
    images: &[Image],
    watch: &dyn InstallObserver,
    mut tell: impl FnMut(u64),
) -> Result<(), ToolError> {
    let mut done = 0;
    for (device, kind) in [(&mut target.root, ImageKind::Root), (&mut target.boot, ImageKind::Boot)] {
        let mut whole = Context::new(&SHA256);
        let mut range = index.range(kind);
        if kind == ImageKind::Boot {
            head.feed(|bytes| whole.update(bytes));
            range.start = head.blocks.end.max(range.start);
        }
        let whole = area(device, index, range, watch, whole, |bytes| {
            done += bytes;
            tell(done);
        })?;
        let signed = images.iter().find(|image| image.kind == kind).map(|image| image.sha256);
        if signed.is_none_or(|signed| signed.0 != *whole.finish().as_ref()) {
            return Err(BundleError::Hash { what: format!("the {} image", kind.name()) }.into());
        }
    }
    Ok(())
}

/// One area's consecutive blocks. Returns `whole` with their bytes added.
fn area(
    device: &mut Box<dyn BlockDevice>,
    index: &BlockIndex,
    blocks: std::ops::Range<u32>,
    watch: &dyn InstallObserver,
    mut whole: Context,
    mut tell: impl FnMut(u64),
) -> Result<Context, ToolError> {
    let Some(last) = blocks.clone().last() else { return Ok(whole) };
    let (first, last) = (index.block(blocks.start), index.block(last));
    // Whole blocks: both sizes are powers of two, and only the last block is shorter.
    let piece_bytes = PIECE.max(first.size as usize);
    let (name, start, end) = (first.image.name(), first.at, last.at + u64::from(last.size));
    std::thread::scope(|threads| {
        let (send, pieces) = sync_channel::<Result<Vec<u8>, ToolError>>(AHEAD);
        let (give, free) = channel::<Vec<u8>>();
        threads.spawn(move || {
            let mut at = start;
            while at < end {
                let mut piece = free.try_recv().unwrap_or_default();
                piece.resize((end - at).min(piece_bytes as u64) as usize, 0);
                let read = device.read_back(at, &mut piece);
                at += piece.len() as u64;
                let what = || format!("reading back the target's {name} area at {at}");
                // The hashing thread has found an error and ended.
                if send.send(read.map(|()| piece).map_err(|error| card(&what(), &error))).is_err() {
                    return;
                }
            }
        });
        // The whole image is hashed in parallel, on another processor.
        let (pass, passed) = sync_channel::<Vec<u8>>(0);
        let image = threads.spawn(move || {
            for piece in passed {
                whole.update(&piece);
                let _ = give.send(piece);
            }
            whole
        });
        let mut waiting = blocks.map(|n| index.block(n));
        for piece in pieces {
            let piece = piece?;
            if watch.stopped() {
                return Err(ToolError::cancelled("the update"));
            }
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                let Some(block) = waiting.next() else { break };
                let (bytes, more) = rest.split_at((block.size as usize).min(rest.len()));
                if Digest::of(bytes) != block.sha256 {
                    return Err(mismatch(name, block.at));
                }
                rest = more;
            }
            tell(piece.len() as u64);
            let _ = pass.send(piece);
        }
        drop(pass);
        image.join().map_err(|_| ToolError::internal("the thread that hashes an image ended"))
    })
}

/// The card does not hold what was written.
pub(super) fn mismatch(area: &str, at: u64) -> ToolError {
    ToolError::new(
        ErrorCode::VerificationFailed,
        format!(
            "the card gives back something else than was written to the {area} area at {at}; the slot is not armed"
        ),
    )
    .with("area", area)
    .with("at", at)
    .with("running_slot_untouched", true)
    .hint("the card may be worn out: the running system stays; try once more, then replace the card")
}
