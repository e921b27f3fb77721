//! The install engine: writes a verified release with its index into the target slot. Synchronous; the caller provides
//! a thread, and the blocks as they arrive.
//!
//! The order of its steps is the table of docs/update.md. It writes only the slot that does not run. Bad input changes
//! nothing. An interruption at any point leaves a slot that cannot be started, a record that says so, and written
//! blocks that are not requested again.

use super::{
    finale::{Finale, head_bytes, zero_head},
    frame::{Armed, InstallProgress, NeededBlocks},
    hooks::{InstallObserver, Point},
    plan::{BlockOrigin, BootHead, InstallPlan, Sides, fill_from, is},
    record::InstallRecord,
    tree,
    writer::{SlotAreas, SlotWriter},
};
use crate::{
    Slot,
    bundle::{self, BlockIndex, ImageKind},
    disk::{Access, Area, Disk},
    status::Phase,
    trust::VerifiedRelease,
};
use base::error::ToolError;
use std::{sync::Arc, time::Instant};

/// How often the server may be asked for more after it has sent everything: a block may rot once, not for ever.
const ROUNDS: u32 = 3;
/// Bytes between records of the progress, for people: hashes decide what is present.
const CHECKPOINT: u64 = 64 << 20;

/// The environment of an install.
#[derive(Clone)]
pub struct InstallSite {
    pub disk: Arc<dyn Disk>,
    pub record: InstallRecord,
    pub watch: Arc<dyn InstallObserver>,
    pub simulated: bool,
}

/// An install: compares, then writes, then arms.
pub struct InstallEngine {
    site: InstallSite,
    release: VerifiedRelease,
    index: BlockIndex,
    to: Slot,
    active: Option<SlotAreas>,
    plan: InstallPlan,
    /// The target, until writing begins.
    target: Option<SlotAreas>,
    /// Owns the target after that.
    writer: Option<SlotWriter>,
    /// Blocks before this one are in place, except for those that have to be sent.
    cursor: u32,
    rounds: u32,
    counts: Counts,
    compare_ms: u64,
    /// Whether it is recorded.
    begun: bool,
    /// When writing began.
    began: Instant,
    /// Bytes given to a writer, and those that earlier writers brought to the medium.
    queued: u64,
    flushed: u64,
    /// Bytes on the medium at the last progress report, and at the last record.
    told: u64,
    recorded: u64,
}

#[derive(Default)]
struct Counts {
    sent: u64,
    copied: u64,
    zeroed: u64,
}

/// The result of [`InstallEngine::finish`].
#[derive(Debug)]
pub enum Finish {
    /// The slot is armed.
    Armed(Armed),
    /// These blocks are missing: send them, then finish again.
    More(NeededBlocks),
}

impl InstallEngine {
    /// Opens the slot `to`, which must not be running, and determines which blocks are on the card already. Writes
    /// nothing.
    ///
    /// # Errors
    /// `failed_precondition` when an image does not fit; `conflict` when the target is in use; `unavailable` when it
    /// cannot be read; `cancelled`.
    pub fn prepare(
        site: InstallSite,
        release: VerifiedRelease,
        index: BlockIndex,
        to: Slot,
    ) -> Result<Self, ToolError> {
        let began = Instant::now();
        let open = |slot: Slot, access: Access| -> Result<SlotAreas, ToolError> {
            Ok(SlotAreas {
                boot: site.disk.open(Area::Boot(slot), access)?,
                root: site.disk.open(Area::Root(slot), access)?,
            })
        };
        let target = open(to, Access::Exclusive)?;
        for image in &release.manifest.images {
            let room = target.area(image.kind).size();
            if image.size > room {
                return Err(ToolError::precondition(format!(
                    "the {} image has {} bytes, and the {} area of slot {to} {room}",
                    image.kind.name(),
                    image.size,
                    image.kind.name(),
                ))
                .with("image_bytes", image.size)
                .with("area_bytes", room)
                .hint("it was made for another layout: get the bundle for this one"));
            }
        }
        // If the running slot cannot be read, all blocks are requested instead of copied.
        let active = open(to.other(), Access::Read).ok();
        let head_bytes = head_bytes(&target, active.as_ref());
        let sides = Sides { target: &target, active: active.as_ref(), index: &index, head_bytes };
        let plan = InstallPlan::of(&sides, &*site.watch)?;
        Ok(Self {
            site,
            release,
            index,
            to,
            active,
            plan,
            target: Some(target),
            writer: None,
            cursor: 0,
            rounds: 0,
            counts: Counts::default(),
            compare_ms: millis(began),
            begun: false,
            began: Instant::now(),
            queued: 0,
            flushed: 0,
            told: 0,
            recorded: 0,
        })
    }

    /// The blocks that have to be sent.
    pub fn wanted(&self) -> NeededBlocks {
        self.plan.wanted()
    }

    /// Takes block `n` as it is stored in the bundle. The first one begins the writing; a bad one changes nothing.
    ///
    /// # Errors
    /// `verification_failed` for bytes with the wrong hash, `invalid_argument` for a number out of range; those of the
    /// card.
    pub fn block(&mut self, n: u32, stored: &[u8]) -> Result<(), ToolError> {
        self.take(n, stored).inspect_err(|error| self.interrupted(error))
    }

    fn take(&mut self, n: u32, stored: &[u8]) -> Result<(), ToolError> {
        let Some(way) = self.plan.ways.get(n as usize).copied() else {
            return Err(ToolError::invalid(format!(
                "the bundle has {} blocks, and no number {n}",
                self.plan.ways.len()
            ))
            .with("block", n));
        };
        if way != BlockOrigin::Send {
            // Unneeded or repeated blocks are ignored.
            return Ok(());
        }
        let block = self.index.block(n);
        let mut raw = self.writer.as_ref().map(SlotWriter::buffer).unwrap_or_default();
        bundle::unpack(&block, stored, &mut raw).map_err(|fault| ToolError::from(fault).with("block", n))?;
        self.begin()?;
        self.reach(n)?;
        self.counts.sent += u64::from(block.size);
        if self.plan.head.blocks.contains(&n) {
            self.plan.keep(&block, &raw);
        } else {
            self.write(block.image, block.at, raw)?;
        }
        self.plan.ways[n as usize] = BlockOrigin::There;
        Ok(())
    }

    /// The server has sent everything: copies the rest, reads everything back, and arms the slot.
    ///
    /// # Errors
    /// Those of the card; `verification_failed` when it reads back something else (the slot is not armed then);
    /// `failed_precondition` when blocks are still missing after several rounds.
    pub fn finish(&mut self) -> Result<Finish, ToolError> {
        self.end().inspect_err(|error| self.interrupted(error))
    }

    fn end(&mut self) -> Result<Finish, ToolError> {
        self.begin()?;
        self.reach(self.index.len())?;
        if self.plan.wanted().is_empty() {
            self.compute_tree()?;
        }
        let wanted = self.plan.wanted();
        if !wanted.is_empty() {
            self.rounds += 1;
            if self.rounds > ROUNDS {
                return Err(ToolError::precondition(format!("{} blocks are missing still", wanted.count()))
                    .with("blocks", wanted.count())
                    .hint("start the update again: it goes on from here"));
            }
            return Ok(Finish::More(wanted));
        }
        let writer = self.writer.take().ok_or_else(|| ToolError::internal("an install finished twice"))?;
        let target = writer.finish()?;
        self.site.record.written()?;
        self.site.watch.passed(Point::RecordedWritten);
        let write_ms = millis(self.began);
        let verifying = Instant::now();
        let head = BootHead {
            blocks: self.plan.head.blocks.clone(),
            length: self.plan.head.length,
            pieces: std::mem::take(&mut self.plan.head.pieces),
        };
        let finale = Finale {
            site: &self.site,
            release: &self.release,
            index: &self.index,
            to: self.to,
            head: &head,
            total: self.plan.total,
        };
        finale.run(target)?;
        let Counts { sent, copied, zeroed } = self.counts;
        Ok(Finish::Armed(Armed {
            version: self.release.manifest.version.clone(),
            counter: self.release.manifest.counter,
            manifest_sha256: self.release.digest,
            target: self.to,
            total_bytes: self.plan.total,
            sent_bytes: sent,
            copied_bytes: copied,
            zeroed_bytes: zeroed,
            kept_bytes: self.plan.kept,
            compare_ms: self.compare_ms,
            write_ms,
            verify_ms: millis(verifying),
            simulated: self.site.simulated,
        }))
    }

    /// Stops for now: what is queued is written, so that it is not requested again.
    ///
    /// # Errors
    /// Those of the card.
    pub fn pause(mut self) -> Result<(), ToolError> {
        self.writer
            .take()
            .map_or(Ok(()), |writer| writer.finish().map(drop))
            .inspect_err(|error| self.interrupted(error))
    }

    /// Step 3, once: records that the target is being written, then makes it unbootable, then allows writing.
    fn begin(&mut self) -> Result<(), ToolError> {
        let Some(target) = self.target.take() else { return Ok(()) };
        if self.site.watch.stopped() {
            return Err(ToolError::cancelled("the update"));
        }
        self.began = Instant::now();
        self.site.record.writing(&self.release, self.to)?;
        self.begun = true;
        self.site.watch.passed(Point::RecordedWriting);
        zero_head(&*target.boot, self.plan.head.length)?;
        self.site.watch.passed(Point::ZeroedHead);
        self.start_writer(target)
    }

    /// Copies and zeroes what lies before block `end`, in order of position.
    fn reach(&mut self, end: u32) -> Result<(), ToolError> {
        while self.cursor < end {
            let n = self.cursor;
            self.cursor += 1;
            let way = self.plan.ways[n as usize];
            if !matches!(way, BlockOrigin::Zero | BlockOrigin::Copy(_)) {
                continue;
            }
            if self.site.watch.stopped() {
                return Err(ToolError::cancelled("the update"));
            }
            let block = self.index.block(n);
            let mut raw = self.writer.as_ref().map(SlotWriter::buffer).unwrap_or_default();
            if let BlockOrigin::Copy(place) = way {
                let area = self.active.as_ref().map(|active| active.area(block.image));
                let whole = self.index.block(self.index.range(block.image).start).size;
                let at = u64::from(place) * u64::from(whole);
                let copied = |area| fill_from(area, at, block.size, &mut raw).is_ok();
                // Hashed again when copied: it may have rotted since the comparison. Then it is requested from the
                // server.
                if !area.is_some_and(copied) || !is(&block, &raw) {
                    self.plan.ways[n as usize] = BlockOrigin::Send;
                    continue;
                }
                self.counts.copied += u64::from(block.size);
            } else {
                raw.resize(block.size as usize, 0);
                self.counts.zeroed += u64::from(block.size);
            }
            self.write(block.image, block.at, raw)?;
            self.plan.ways[n as usize] = BlockOrigin::There;
        }
        Ok(())
    }

    /// Computes the missing part of the root's hash tree. Blocks that do not match the index must be sent: the image
    /// has no such tree, or the card returned something else than was written, which the read-back finds.
    fn compute_tree(&mut self) -> Result<(), ToolError> {
        let Some(layout) = self.plan.tree.take() else { return Ok(()) };
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let target = writer.finish()?;
        self.told = self.queued;
        let bytes = tree::compute(&*target.root, layout, &*self.site.watch, &self.so_far())?;
        self.site.watch.passed(Point::ComputedTree);
        self.start_writer(target)?;
        for n in self.index.range(ImageKind::Root) {
            if self.plan.ways[n as usize] != BlockOrigin::Tree {
                continue;
            }
            let block = self.index.block(n);
            let from = (block.at - layout.data) as usize;
            let raw = &bytes[from..from + block.size as usize];
            let well = is(&block, raw);
            if well {
                self.counts.copied += u64::from(block.size);
                self.write(block.image, block.at, raw.to_vec())?;
            }
            self.plan.ways[n as usize] = if well { BlockOrigin::There } else { BlockOrigin::Send };
        }
        Ok(())
    }

    fn start_writer(&mut self, target: SlotAreas) -> Result<(), ToolError> {
        let block_size = self.release.manifest.images.iter().map(|image| image.block_size).max().unwrap_or(1 << 20);
        self.flushed = self.queued;
        self.writer = Some(SlotWriter::start(target, block_size, Arc::clone(&self.site.watch))?);
        Ok(())
    }

    fn so_far(&self) -> InstallProgress {
        InstallProgress { phase: Phase::Writing, done: self.plan.kept + self.told, total: self.plan.total }
    }

    fn write(&mut self, image: ImageKind, at: u64, raw: Vec<u8>) -> Result<(), ToolError> {
        let Some(writer) = &mut self.writer else { return Err(ToolError::internal("a block before the beginning")) };
        self.queued += raw.len() as u64;
        writer.write(image, at, raw)?;
        let flushed = self.flushed + writer.flushed();
        if flushed > self.told {
            self.told = flushed;
            self.site.watch.progress(&self.so_far());
        }
        if flushed >= self.recorded + CHECKPOINT {
            self.recorded = flushed;
            self.site.record.checkpoint(self.plan.kept + flushed)?;
        }
        Ok(())
    }

    /// Records why the install ended early, if its beginning is recorded. That it can be resumed is recorded already.
    fn interrupted(&self, why: &ToolError) {
        if self.begun
            && let Err(error) = self.site.record.interrupted(&why.message)
        {
            tracing::error!(target: "update", %error, "why the update ended could not be recorded");
        }
    }
}

pub(super) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
