//! The install engine: a verified release and its index on one side, the target slot on the other. Synchronous; the caller gives it a
//! thread, and blocks as they come.
//!
//! The order of its steps is the table of docs/update.md. What it writes goes to the slot that does not run; bad input changes nothing,
//! and whatever ends it midway leaves a slot that cannot be started, a record that says so, and blocks that are not asked for again.

use super::{
    finale::{Finale, head_bytes, zero_head},
    frame::{Armed, Progress, Wanted},
    hooks::{Point, Watch},
    plan::{Head, Plan, Sides, Way, fill_from, is},
    record::Record,
    tree,
    writer::{Target, Writer},
};
use crate::{
    Slot,
    bundle::{self, ImageKind, Index},
    disk::{Access, Area, Disk},
    status::Phase,
    trust::Release,
};
use base::error::ToolError;
use std::{sync::Arc, time::Instant};

/// How often the server may be asked for more after it said that it was done: a copy rots once, not for ever.
const ROUNDS: u32 = 3;
/// Bytes between two notes of how far it is, for people: hashes decide what is there.
const CHECKPOINT: u64 = 64 << 20;

/// Where an install happens.
#[derive(Clone)]
pub struct Site {
    pub disk: Arc<dyn Disk>,
    pub record: Record,
    pub watch: Arc<dyn Watch>,
    pub simulated: bool,
}

/// An install: compared, then written, then armed.
pub struct Engine {
    site: Site,
    release: Release,
    index: Index,
    to: Slot,
    active: Option<Target>,
    plan: Plan,
    /// The target, while nothing is written.
    target: Option<Target>,
    /// Has it, once something is.
    writer: Option<Writer>,
    /// Blocks before this one are where they belong, but for those that have to be sent.
    cursor: u32,
    rounds: u32,
    counts: Counts,
    compare_ms: u64,
    /// Whether it is recorded.
    begun: bool,
    /// When the writing began.
    began: Instant,
    /// Bytes that were given to a writer, and those that earlier writers brought to the medium.
    queued: u64,
    flushed: u64,
    /// Bytes on the medium when somebody was told last, and when it was recorded last.
    told: u64,
    recorded: u64,
}

#[derive(Default)]
struct Counts {
    sent: u64,
    copied: u64,
    zeroed: u64,
}

/// What the end of the blocks came to.
#[derive(Debug)]
pub enum Finish {
    /// The slot is armed.
    Armed(Armed),
    /// These are missing: to be sent, and then the end again.
    More(Wanted),
}

impl Engine {
    /// Opens the slot `to`, which must not be the one that runs, and finds out which blocks are on the card already. Writes nothing.
    ///
    /// # Errors
    /// `failed_precondition` when an image does not fit; `conflict` when the target is in use; `unavailable` when it cannot be read;
    /// `cancelled`.
    pub fn prepare(site: Site, release: Release, index: Index, to: Slot) -> Result<Self, ToolError> {
        let began = Instant::now();
        let open = |slot: Slot, access: Access| -> Result<Target, ToolError> {
            Ok(Target {
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
        // A running slot that cannot be read gives no blocks, and all of them are asked for.
        let active = open(to.other(), Access::Read).ok();
        let head_bytes = head_bytes(&target, active.as_ref());
        let sides = Sides { target: &target, active: active.as_ref(), index: &index, head_bytes };
        let plan = Plan::of(&sides, &*site.watch)?;
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
    pub fn wanted(&self) -> Wanted {
        self.plan.wanted()
    }

    /// Takes block `n` as it is stored in the bundle. The first one begins the writing; a bad one changes nothing.
    ///
    /// # Errors
    /// `verification_failed` for bytes that are not the signed ones, `invalid_argument` for a number out of range; those of the card.
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
        if way != Way::Send {
            // Sent for nothing, or twice: no harm.
            return Ok(());
        }
        let block = self.index.block(n);
        let mut raw = self.writer.as_ref().map(Writer::buffer).unwrap_or_default();
        bundle::unpack(&block, stored, &mut raw).map_err(|fault| ToolError::from(fault).with("block", n))?;
        self.begin()?;
        self.reach(n)?;
        self.counts.sent += u64::from(block.size);
        if self.plan.head.blocks.contains(&n) {
            self.plan.keep(&block, &raw);
        } else {
            self.write(block.image, block.at, raw)?;
        }
        self.plan.ways[n as usize] = Way::There;
        Ok(())
    }

    /// The server has sent everything: what is left is copied, all is read back, and the slot is armed.
    ///
    /// # Errors
    /// Those of the card; `verification_failed` when it gives back something else (the slot is not armed then);
    /// `failed_precondition` when blocks still miss after several rounds.
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
        let head = Head {
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

    /// Ends it for now: what is queued is written, so that it is not asked for again.
    ///
    /// # Errors
    /// Those of the card.
    pub fn pause(mut self) -> Result<(), ToolError> {
        self.writer
            .take()
            .map_or(Ok(()), |writer| writer.finish().map(drop))
            .inspect_err(|error| self.interrupted(error))
    }

    /// Step 3, once: the record says that the target is being written, then it can no longer be started, then it is written.
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

    /// Copies and zeroes what lies before block `end`, in the order of the card.
    fn reach(&mut self, end: u32) -> Result<(), ToolError> {
        while self.cursor < end {
            let n = self.cursor;
            self.cursor += 1;
            let way = self.plan.ways[n as usize];
            if !matches!(way, Way::Zero | Way::Copy(_)) {
                continue;
            }
            if self.site.watch.stopped() {
                return Err(ToolError::cancelled("the update"));
            }
            let block = self.index.block(n);
            let mut raw = self.writer.as_ref().map(Writer::buffer).unwrap_or_default();
            if let Way::Copy(place) = way {
                let area = self.active.as_ref().map(|active| active.area(block.image));
                let whole = self.index.block(self.index.range(block.image).start).size;
                let at = u64::from(place) * u64::from(whole);
                let copied = |area| fill_from(area, at, block.size, &mut raw).is_ok();
                // Hashed again as it is copied: between the comparison and now it may have rotted. Then the server has it.
                if !area.is_some_and(copied) || !is(&block, &raw) {
                    self.plan.ways[n as usize] = Way::Send;
                    continue;
                }
                self.counts.copied += u64::from(block.size);
            } else {
                raw.resize(block.size as usize, 0);
                self.counts.zeroed += u64::from(block.size);
            }
            self.write(block.image, block.at, raw)?;
            self.plan.ways[n as usize] = Way::There;
        }
        Ok(())
    }

    /// Computes what is missing of the root's hash tree. Blocks that do not have the index's hash have to be sent: the image has no such
    /// tree, or the card gave something else than was written to it, which is found when it is read back.
    fn compute_tree(&mut self) -> Result<(), ToolError> {
        let Some(layout) = self.plan.tree.take() else { return Ok(()) };
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let target = writer.finish()?;
        self.told = self.queued;
        let bytes = tree::compute(&*target.root, layout, &*self.site.watch, &self.so_far())?;
        self.site.watch.passed(Point::ComputedTree);
        self.start_writer(target)?;
        for n in self.index.range(ImageKind::Root) {
            if self.plan.ways[n as usize] != Way::Tree {
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
            self.plan.ways[n as usize] = if well { Way::There } else { Way::Send };
        }
        Ok(())
    }

    fn start_writer(&mut self, target: Target) -> Result<(), ToolError> {
        let block_size = self.release.manifest.images.iter().map(|image| image.block_size).max().unwrap_or(1 << 20);
        self.flushed = self.queued;
        self.writer = Some(Writer::start(target, block_size, Arc::clone(&self.site.watch))?);
        Ok(())
    }

    fn so_far(&self) -> Progress {
        Progress { phase: Phase::Writing, done: self.plan.kept + self.told, total: self.plan.total }
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

    /// Has the record say why it ended early, once there is one. That it can be resumed, it says already.
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
