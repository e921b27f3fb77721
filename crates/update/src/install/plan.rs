//! The source of each block, by comparing target, running slot and index. Writes nothing.

use super::{
    frame::{InstallProgress, NeededBlocks},
    hooks::{InstallObserver, Point},
    writer::{SlotAreas, card},
};
use crate::{
    bundle::{Block, BlockIndex, Digest, ImageKind, tree::HashTreeLayout},
    disk::BlockDevice,
    status::Phase,
};
use base::error::ToolError;
use std::{collections::BTreeMap, ops::Range};

/// Bytes between progress reports.
const TELL: u64 = 4 << 20;

/// How a block is obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockOrigin {
    /// In the target already; or written, or in the head that is written last.
    There,
    /// Zeros have to be written.
    Zero,
    /// Copied from the running slot, from this many whole blocks after the start of its area: when a file grows, later
    /// blocks move.
    Copy(u32),
    /// In the root's hash tree, and computed after all the data is written.
    Tree,
    /// It has to be sent.
    Send,
}

/// The head of the boot image: reserved sectors and FATs, without which no firmware finds a file. Held in memory until
/// everything else is on the card and read back.
pub(super) struct BootHead {
    /// Its blocks: the first ones of the boot image.
    pub blocks: Range<u32>,
    /// Its size in bytes.
    pub length: u64,
    /// Its non-zero blocks by position: most of a FAT is zero.
    pub pieces: BTreeMap<u64, Vec<u8>>,
}

impl BootHead {
    /// All its bytes in order, gaps of zeros included.
    pub fn feed(&self, mut take: impl FnMut(&[u8])) {
        const ZEROS: [u8; 4096] = [0; 4096];
        let zeros = |from: u64, to: u64, take: &mut dyn FnMut(&[u8])| {
            let mut at = from;
            while at < to {
                let length = (to - at).min(ZEROS.len() as u64);
                take(&ZEROS[..length as usize]);
                at += length;
            }
        };
        let mut at = 0;
        for (start, piece) in &self.pieces {
            zeros(at, *start, &mut take);
            take(piece);
            at = start + piece.len() as u64;
        }
        zeros(at, self.length, &mut take);
    }
}

/// One way per block.
pub(super) struct InstallPlan {
    pub ways: Vec<BlockOrigin>,
    pub head: BootHead,
    /// Bytes of both images.
    pub total: u64,
    /// Of them: present already, or zeros still to be written.
    pub kept: u64,
    /// The root's hash tree, while blocks of it are to be computed.
    pub tree: Option<HashTreeLayout>,
}

/// The inputs of the comparison: both slots and the index.
pub(super) struct Sides<'a> {
    pub target: &'a SlotAreas,
    /// The running slot's boot and root; `None` when it cannot be read: then nothing is copied.
    pub active: Option<&'a SlotAreas>,
    pub index: &'a BlockIndex,
    /// Bytes of the boot image's head.
    pub head_bytes: u64,
}

impl InstallPlan {
    /// Reads the target, and the running slot where they differ.
    ///
    /// # Errors
    /// `unavailable` when the target cannot be read; `cancelled`.
    pub fn of(sides: &Sides<'_>, watch: &dyn InstallObserver) -> Result<Self, ToolError> {
        let index = sides.index;
        let boot = index.range(ImageKind::Boot);
        let inside = |n: &u32| index.block(*n).at < sides.head_bytes;
        let head_end = boot.clone().take_while(inside).last().map_or(boot.start, |last| last + 1);
        let total = [ImageKind::Root, ImageKind::Boot].into_iter().map(|image| size(index, image)).sum();
        let mut plan = Self {
            ways: Vec::with_capacity(index.len() as usize),
            head: BootHead {
                length: (boot.start..head_end).map(|n| u64::from(index.block(n).size)).sum(),
                blocks: boot.start..head_end,
                pieces: BTreeMap::new(),
            },
            total,
            kept: 0,
            tree: None,
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut done, mut told) = (0, 0);
        for (n, block) in (0..).zip(index.blocks()) {
            if watch.stopped() {
                return Err(ToolError::cancelled("the update"));
            }
            let way = plan.way(sides, n, &block, &mut ours, &mut theirs)?;
            plan.ways.push(way);
            done += u64::from(block.size);
            if done - told > TELL || done == total {
                told = done;
                watch.progress(&InstallProgress { phase: Phase::Comparing, done, total });
            }
        }
        for image in [ImageKind::Root, ImageKind::Boot] {
            plan.find_moved(sides, image, watch)?;
        }
        plan.leave_tree(index);
        watch.passed(Point::Compared);
        Ok(plan)
    }

    /// Searches the whole running slot for blocks that are not in the same place. 16 bytes of memory per missing block.
    /// The progress that is reported meanwhile stays the same: the server gives up an agent that reports none.
    fn find_moved(
        &mut self,
        sides: &Sides<'_>,
        image: ImageKind,
        watch: &dyn InstallObserver,
    ) -> Result<(), ToolError> {
        let (index, range) = (sides.index, sides.index.range(image));
        let Some(area) = sides.active.map(|active| active.area(image)) else { return Ok(()) };
        let Some(first) = range.clone().next().map(|n| index.block(n)) else { return Ok(()) };
        let short = |digest: Digest| u64::from_le_bytes(*digest.0.first_chunk().unwrap_or(&[0; 8]));
        let missing = |n: &u32| self.ways[*n as usize] == BlockOrigin::Send && !self.head.blocks.contains(n);
        let mut wanted: Vec<(u64, u32)> =
            range.clone().filter(missing).map(|n| (short(index.block(n).sha256), n)).collect();
        base::sort::sort(&mut wanted);
        // Only as much of the area as the new image covers: what follows the old image is undefined.
        let places = area.size() / u64::from(first.size);
        let mut bytes = Vec::new();
        for place in 0..places.min(u64::from(range.end - range.start)) as u32 {
            if wanted.is_empty() {
                break;
            }
            if watch.stopped() {
                return Err(ToolError::cancelled("the update"));
            }
            let there = Block { at: u64::from(place) * u64::from(first.size), ..first.clone() };
            if there.at.is_multiple_of(TELL) {
                let (done, total) = (self.total, self.total);
                watch.progress(&InstallProgress { phase: Phase::Comparing, done, total });
            }
            if fill(area, &there, &mut bytes).is_err() {
                continue;
            }
            let digest = Digest::of(&bytes);
            let start = wanted.partition_point(|(other, _)| *other < short(digest));
            for (_, n) in wanted[start..].iter().take_while(|(other, _)| *other == short(digest)) {
                if index.block(*n).sha256 == digest && self.ways[*n as usize] == BlockOrigin::Send {
                    self.ways[*n as usize] = BlockOrigin::Copy(place);
                }
            }
        }
        Ok(())
    }

    /// Missing blocks of the root's hash tree are computed instead of requested, if the root's size allows a tree. If
    /// it has none, they are requested later.
    fn leave_tree(&mut self, index: &BlockIndex) {
        let Some(tree) = HashTreeLayout::of(size(index, ImageKind::Root)) else { return };
        for n in index.range(ImageKind::Root).rev().take_while(|n| index.block(*n).at >= tree.data) {
            let way = &mut self.ways[n as usize];
            if *way == BlockOrigin::Send {
                *way = BlockOrigin::Tree;
                self.tree = Some(tree);
            }
        }
    }

    fn way(
        &mut self,
        sides: &Sides<'_>,
        n: u32,
        block: &Block,
        ours: &mut Vec<u8>,
        theirs: &mut Vec<u8>,
    ) -> Result<BlockOrigin, ToolError> {
        let head = self.head.blocks.contains(&n);
        if head && block.zero {
            // The state after the head is zeroed.
            self.kept += u64::from(block.size);
            return Ok(BlockOrigin::There);
        }
        fill(sides.target.area(block.image), block, ours).map_err(|error| {
            card(&format!("reading the target's {} area at {}", block.image.name(), block.at), &error)
        })?;
        if is(block, ours) {
            self.kept += u64::from(block.size);
            if head {
                self.keep(block, ours);
            }
            return Ok(BlockOrigin::There);
        }
        if block.zero {
            return Ok(BlockOrigin::Zero);
        }
        // If the running slot cannot be read, the block is requested from the server.
        let found = sides.active.is_some_and(|active| {
            let area = active.area(block.image);
            block.at + u64::from(block.size) <= area.size() && fill(area, block, theirs).is_ok() && is(block, theirs)
        });
        match (found, head) {
            (true, true) => {
                self.keep(block, theirs);
                Ok(BlockOrigin::There)
            }
            // All blocks of an image except the last have one size, so the number gives the position.
            (true, false) => Ok(BlockOrigin::Copy(n - sides.index.range(block.image).start)),
            (false, _) => Ok(BlockOrigin::Send),
        }
    }

    /// Stores a block of the head in memory.
    pub fn keep(&mut self, block: &Block, bytes: &[u8]) {
        if bytes.iter().any(|byte| *byte != 0) {
            self.head.pieces.insert(block.at, bytes.to_vec());
        }
    }

    /// The blocks that have to be sent.
    pub fn wanted(&self) -> NeededBlocks {
        let mut wanted = NeededBlocks::none(self.ways.len() as u32);
        for (n, way) in (0..).zip(&self.ways) {
            wanted.set(n, *way == BlockOrigin::Send);
        }
        wanted
    }
}

/// Size of an image in bytes.
fn size(index: &BlockIndex, image: ImageKind) -> u64 {
    index.range(image).last().map_or(0, |last| {
        let last = index.block(last);
        last.at + u64::from(last.size)
    })
}

/// Reads the bytes at a block's place.
pub(super) fn fill(device: &dyn BlockDevice, block: &Block, into: &mut Vec<u8>) -> std::io::Result<()> {
    fill_from(device, block.at, block.size, into)
}

/// Reads as many bytes from another position.
pub(super) fn fill_from(device: &dyn BlockDevice, at: u64, size: u32, into: &mut Vec<u8>) -> std::io::Result<()> {
    into.resize(size as usize, 0);
    device.read(at, into)
}

/// Whether these are the block's bytes. Zeros are compared without a hash.
pub(super) fn is(block: &Block, bytes: &[u8]) -> bool {
    if block.zero { bytes.iter().all(|byte| *byte == 0) } else { Digest::of(bytes) == block.sha256 }
}
