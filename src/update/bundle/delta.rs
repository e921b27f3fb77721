//! What of a new image a device that has the old one has to fetch.

use super::{Digest, Fault, Index, Source, frame::Packer};
use std::{
    collections::HashSet,
    io::{self, Read},
};

/// Bytes and blocks of a new version, and what of them an old one has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Of the new version.
    pub blocks: u64,
    /// Bytes of it.
    pub raw: u64,
    /// How many of its blocks are zeros.
    pub zeros: u64,
    /// How many are neither zeros nor anywhere in the old version.
    pub changed: u64,
    /// Bytes of all its blocks as stored: a download without the old version.
    pub stored: u64,
    /// Bytes of the changed blocks as stored: a download with it. The index (68 bytes a block) comes on top of both.
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

/// Between two images, in blocks of `block_size` bytes, packed at `level`. Memory: 32 bytes for each block of the old image.
///
/// # Errors
/// [`Fault::Io`].
pub fn between_images(old: &mut dyn Source, new: &mut dyn Source, block_size: u32, level: i32) -> Result<Delta, Fault> {
    let mut known = HashSet::new();
    each(old, block_size, "the old image", &mut |raw| {
        known.insert(Digest::of(raw));
        Ok(())
    })?;
    let failed = |error: io::Error| Fault::io("the compressor", &error);
    let (mut packer, mut stored) = (Packer::new(level, block_size).map_err(failed)?, Vec::new());
    let mut delta = Delta::default();
    each(new, block_size, "the new image", &mut |raw| {
        if raw.iter().all(|byte| *byte == 0) {
            delta.add(raw.len(), 0, true);
            return Ok(());
        }
        packer.pack(raw, &mut stored).map_err(failed)?;
        delta.add(raw.len(), stored.len() as u64, known.contains(&Digest::of(raw)));
        Ok(())
    })?;
    Ok(delta)
}

/// Between two bundles, of which only the indexes are needed.
pub fn between_indexes(old: &Index, new: &Index) -> Delta {
    let known: HashSet<Digest> = old.blocks().map(|block| block.sha256).collect();
    let mut delta = Delta::default();
    for block in new.blocks() {
        delta.add(block.size as usize, block.stored.end - block.stored.start, known.contains(&block.sha256));
    }
    delta
}

fn each(
    source: &mut dyn Source,
    block_size: u32,
    name: &str,
    seen: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::io(name, &error);
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
