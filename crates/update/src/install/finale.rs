//! Steps 6 and 7: everything is read back, then the head is written, sector 0 last, and only then the slot is armed.
//! Also the reverse: zeroing the head before anything else in the slot changes.

use super::{
    engine::InstallSite,
    frame::InstallProgress,
    hooks::Point,
    plan::BootHead,
    read_back,
    writer::{SlotAreas, card},
};
use crate::{
    Slot,
    boot::{LONGEST_HEAD, head_of_image},
    bundle::{self, BlockIndex},
    disk::BlockDevice,
    status::Phase,
    trust::VerifiedRelease,
};
use base::error::{ErrorCode, ToolError};

/// The sector without which nothing else of a FAT is read.
const SECTOR: usize = 512;

/// How many bytes of the boot area count as head, to be zeroed first and written last: the longer of what the target's
/// and the running slot's file systems say; if neither is a FAT, the maximum.
pub(super) fn head_bytes(target: &SlotAreas, active: Option<&SlotAreas>) -> u64 {
    let of = |side: &SlotAreas| {
        let mut first = [0; SECTOR];
        side.boot.read(0, &mut first).ok()?;
        head_of_image(&first, side.boot.size()).ok()
    };
    let longest = [of(target), active.and_then(of)].into_iter().flatten().max();
    longest.unwrap_or(LONGEST_HEAD).min(target.boot.size())
}

/// Makes the slot unbootable, and returns when that is on the medium.
///
/// # Errors
/// Those of the card.
pub fn zero_head(boot: &dyn BlockDevice, bytes: u64) -> Result<(), ToolError> {
    // A small buffer: the new head is in memory already.
    const ZEROS: [u8; 16 << 10] = [0; 16 << 10];
    let end = bytes.min(boot.size());
    let zero = || -> std::io::Result<()> {
        // Sector 0 first, in a write of its own: after a torn write of the rest it is gone already.
        let mut at = end.min(SECTOR as u64);
        boot.write(0, &ZEROS[..at as usize])?;
        boot.flush()?;
        while at < end {
            let length = (end - at).min(ZEROS.len() as u64);
            boot.write(at, &ZEROS[..length as usize])?;
            at += length;
        }
        boot.flush()
    };
    zero().map_err(|error| card("zeroing the target's head", &error))
}

/// The end of an install.
pub(super) struct Finale<'a> {
    pub site: &'a InstallSite,
    pub release: &'a VerifiedRelease,
    pub index: &'a BlockIndex,
    pub to: Slot,
    pub head: &'a BootHead,
    pub total: u64,
}

impl Finale<'_> {
    /// See the module.
    ///
    /// # Errors
    /// `verification_failed` when the card reads back something else, or the image cannot be started: the slot stays
    /// unbootable, and the record says why. Other failures can be resumed.
    pub fn run(&self, mut target: SlotAreas) -> Result<(), ToolError> {
        let (site, length) = (self.site, self.head.length);
        let done = self.read_back(&mut target).and_then(|()| {
            site.record.verified()?;
            site.watch.passed(Point::RecordedVerified);
            self.write_head(&*target.boot)
        });
        let Err(error) = done else {
            // The device stays open, so that nothing else can use it, until the boot chain is armed.
            site.record.armed()?;
            site.watch.passed(Point::Armed);
            return Ok(());
        };
        // Never leave a partial head.
        if let Err(worse) = zero_head(&*target.boot, length) {
            tracing::error!(target: "update", error = %worse, "the head of a slot that failed");
        }
        // The record zeroes the head as well, for which the area must be closed.
        drop(target);
        if error.code == ErrorCode::VerificationFailed
            && let Err(worse) = site.record.failed(self.to, &error.message)
        {
            tracing::error!(target: "update", error = %worse, "the failure could not be recorded");
        }
        Err(error)
    }

    fn read_back(&self, target: &mut SlotAreas) -> Result<(), ToolError> {
        let (watch, total) = (&*self.site.watch, self.total);
        let tell = |done| watch.progress(&InstallProgress { phase: Phase::Verifying, done, total });
        read_back::all(target, self.index, self.head, &self.release.manifest.images, watch, tell)?;
        let size = target.boot.size();
        let image = self.release.manifest.images.iter().find(|image| image.kind == bundle::ImageKind::Boot);
        let Some(image) = image else { return Ok(()) };
        // With the new head, which is in memory and still zero on the medium.
        let (boot, pieces) = (&*target.boot, &self.head.pieces);
        bundle::check_boot(image.size.min(size), &mut |at, into| {
            boot.read_back(at, into)?;
            let end = at + into.len() as u64;
            for (start, piece) in pieces.range(..end) {
                let stop = start + piece.len() as u64;
                let (from, to) = (at.max(*start), end.min(stop));
                if from < to {
                    let (ours, theirs) = ((from - at) as usize, (from - start) as usize);
                    let length = (to - from) as usize;
                    into[ours..ours + length].copy_from_slice(&piece[theirs..theirs + length]);
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn write_head(&self, boot: &dyn BlockDevice) -> Result<(), ToolError> {
        let failed = |error: std::io::Error| card("writing the target's head", &error);
        let mut first: &[u8] = &[];
        for (at, piece) in &self.head.pieces {
            let (held, rest) = piece.split_at(if *at == 0 { SECTOR.min(piece.len()) } else { 0 });
            boot.write(at + held.len() as u64, rest).map_err(failed)?;
            if *at == 0 {
                first = held;
            }
        }
        boot.flush().map_err(failed)?;
        self.site.watch.passed(Point::WroteHead);
        boot.write(0, first).and_then(|()| boot.flush()).map_err(failed)?;
        self.site.watch.passed(Point::WroteFirstSector);
        for n in self.head.blocks.clone() {
            let block = self.index.block(n);
            let mut bytes = vec![0; block.size as usize];
            boot.read_back(block.at, &mut bytes).map_err(failed)?;
            if bundle::Digest::of(&bytes) != block.sha256 {
                return Err(read_back::mismatch("boot", block.at));
            }
        }
        Ok(())
    }
}
