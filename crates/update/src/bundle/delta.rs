//! The part of a new image that a device with the old one must fetch.

use super::{
    Block, BlockIndex, BundleError, Digest, ImageKind, ImageSource,
    frame::Packer,
    tree::{HashTreeLayout, Hasher, SALT},
};
use std::{
    collections::HashSet,
    io::{self, Read, SeekFrom},
};

/// Bytes and blocks of a new version, and those that the old one already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Blocks of the new version.
    pub blocks: u64,
    /// Bytes of the new version.
    pub raw: u64,
    /// Zero blocks among them.
    pub zeros: u64,
    /// Blocks that are neither zeros, nor in the old version, nor computed from the others.
    pub changed: u64,
    /// Stored size of all blocks in bytes: a download without the old version.
    pub stored: u64,
    /// Stored size of the changed blocks in bytes: a download with it. The index (68 bytes a block) is added to both.
    pub fetched: u64,
}

impl Delta {
    fn add(&mut self, size: usize, stored: u64, old: bool) {
        self.blocks += 1;
        self.raw += size as u64;
        self.stored += stored;
        self.zeros += u64::from(stored == 0);
        if stored > 0 && !old {
            self.changed += 1;
            self.fetched += stored;
        }
    }
}

/// Between two images, in blocks of `block_size` bytes, packed at `level`. Memory: 32 bytes per block of the old image.
/// `progress` hears how many of how many bytes of the new image are done.
///
/// # Errors
/// [`BundleError::Io`].
pub fn between_images(
    old: &mut dyn ImageSource,
    new: &mut dyn ImageSource,
    block_size: u32,
    level: i32,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Delta, BundleError> {
    let mut known = HashSet::new();
    each(old, block_size, "the old image", &mut |raw| {
        known.insert(Digest::of(raw));
        Ok(())
    })?;
    let failed = |error: io::Error| BundleError::io("the compressor", &error);
    let size = new.seek(SeekFrom::End(0)).map_err(|error| BundleError::io("the new image", &error))?;
    let (mut packer, mut stored) = (Packer::new(level, block_size).map_err(failed)?, Vec::new());
    let (mut delta, mut tree, mut at) = (Delta::default(), Tree::of(size), 0);
    each(new, block_size, "the new image", &mut |raw| {
        let computed = tree.as_mut().is_some_and(|tree| tree.has(at, raw));
        at += raw.len() as u64;
        progress(at, size);
        if raw.iter().all(|byte| *byte == 0) {
            delta.add(raw.len(), 0, true);
            return Ok(());
        }
        packer.pack(raw, &mut stored).map_err(failed)?;
        delta.add(raw.len(), stored.len() as u64, computed || known.contains(&Digest::of(raw)));
        Ok(())
    })?;
    Ok(delta)
}

/// Reads a block, unpacked.
pub type Unpacking<'a> = &'a mut dyn FnMut(&Block, &mut Vec<u8>) -> Result<(), BundleError>;

/// Between two bundles. Of the old one only the index is needed. `read` reads a block of the new one, unpacked.
///
/// # Errors
/// Those of `read`.
pub fn between_bundles(old: &BlockIndex, new: &BlockIndex, read: Unpacking<'_>) -> Result<Delta, BundleError> {
    let known: HashSet<Digest> = old.blocks().map(|block| block.sha256).collect();
    let root = new.range(ImageKind::Root).map(|n| u64::from(new.block(n).size)).sum();
    let (mut delta, mut tree, mut raw) = (Delta::default(), Tree::of(root), Vec::new());
    for block in new.blocks() {
        let mut here = known.contains(&block.sha256);
        if block.image == ImageKind::Root
            && let Some(tree) = &mut tree
        {
            raw.clear();
            read(&block, &mut raw)?;
            here |= tree.has(block.at, &raw);
        }
        delta.add(block.size as usize, block.stored.end - block.stored.start, here);
    }
    Ok(delta)
}

/// The hash tree of a root image, whose blocks arrive in order.
struct Tree {
    layout: HashTreeLayout,
    hasher: Option<Hasher>,
    bytes: Vec<u8>,
}

impl Tree {
    fn of(size: u64) -> Option<Self> {
        let layout = HashTreeLayout::of(size)?;
        Some(Self { layout, hasher: Some(Hasher::new(layout, SALT)), bytes: Vec::new() })
    }

    /// Takes the next block. Returns whether a device computes it instead of fetching it.
    fn has(&mut self, at: u64, raw: &[u8]) -> bool {
        let data = self.layout.data;
        let of_data = data.saturating_sub(at).min(raw.len() as u64) as usize;
        if let Some(hasher) = &mut self.hasher {
            hasher.feed(&raw[..of_data]);
        }
        if at + raw.len() as u64 >= data
            && let Some(hasher) = self.hasher.take()
        {
            self.bytes = hasher.finish();
        }
        let from = at.checked_sub(data).map(|from| from as usize);
        from.is_some_and(|from| self.bytes.get(from..from + raw.len()) == Some(raw))
    }
}

fn each(
    source: &mut dyn ImageSource,
    block_size: u32,
    name: &str,
    seen: &mut dyn FnMut(&[u8]) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let failed = |error: io::Error| BundleError::io(name, &error);
    source.rewind().map_err(failed)?;
    let mut raw = Vec::with_capacity(block_size as usize);
    loop {
        raw.clear();
        (&mut *source).take(block_size.into()).read_to_end(&mut raw).map_err(failed)?;
        if raw.is_empty() {
            return Ok(());
        }
        seen(&raw)?;
    }
}
