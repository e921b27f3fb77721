//! The dm-verity hash tree of a root file system, computed instead of fetched.
//!
//! A root image with a tree is its data and, from the next 4 KiB on, what `veritysetup format --no-superblock --hash
//! sha256` makes of it with [`SALT`] (kernel: Documentation/admin-guide/device-mapper/verity.rst): the level of one
//! block first, the level of the data's hashes last. When data moves by a cluster all hashes after it move too, so most
//! of a tree is new in each release; but all of it follows from the data. A bundle does not say whether an image has a
//! tree: it is computed if the sizes allow it, and used if its blocks have the hashes of the index.

use ring::digest::{Context, SHA256};

/// Bytes of a block of data, and of the tree.
pub const BLOCK: usize = 4096;
/// The salt of the images that this project's builders make (buildroot-external/board/raspi-mcp/post-image.sh).
pub const SALT: &[u8] = b"raspi mcp root file system, v1   ";
const HASH: usize = 32;
/// The largest tree that is computed, in bytes: it is held in memory. Enough for 500 MiB of data; the tree of a larger
/// image is fetched.
pub const LONGEST: u64 = 4 << 20;

/// Sizes of an image's data and tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashTreeLayout {
    /// Bytes of data, after which the tree begins.
    pub data: u64,
    /// Bytes of the tree.
    pub tree: u64,
}

impl HashTreeLayout {
    /// The layout of an image of `size` bytes, if it can be data and a tree; each size has at most one. `None`
    /// otherwise, and when the tree would be longer than [`LONGEST`].
    pub fn of(size: u64) -> Option<Self> {
        let blocks = size / BLOCK as u64;
        if !size.is_multiple_of(BLOCK as u64) {
            return None;
        }
        // A tree is 1/127 of its data plus at most a few blocks, for the last block of each level.
        let least = blocks.saturating_sub(blocks / 127 + 8).max(2);
        let data = (least..blocks).find(|data| data + tree_blocks(*data) == blocks)?;
        let tree = (blocks - data) * BLOCK as u64;
        (tree <= LONGEST).then_some(Self { data: data * BLOCK as u64, tree })
    }
}

/// Blocks of the tree over that many blocks of data.
fn tree_blocks(data: u64) -> u64 {
    let (mut level, mut all) = (data, 0);
    while level > 1 {
        level = level.div_ceil((BLOCK / HASH) as u64);
        all += level;
    }
    all
}

/// Computes the tree of data that arrives in pieces.
pub struct Hasher {
    salted: Context,
    /// Hashes of the complete blocks.
    hashes: Vec<u8>,
    /// The incomplete last block.
    begun: Vec<u8>,
}

impl Hasher {
    /// For data and tree of these sizes.
    pub fn new(layout: HashTreeLayout, salt: &[u8]) -> Self {
        let mut salted = Context::new(&SHA256);
        salted.update(salt);
        Self { salted, hashes: Vec::with_capacity(layout.tree as usize), begun: Vec::with_capacity(BLOCK) }
    }

    /// Takes the next bytes of the data.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        if !self.begun.is_empty() {
            let (more, rest) = bytes.split_at((BLOCK - self.begun.len()).min(bytes.len()));
            self.begun.extend_from_slice(more);
            bytes = rest;
            if self.begun.len() < BLOCK {
                return;
            }
            let block = std::mem::take(&mut self.begun);
            self.block(&block);
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        blocks.iter().for_each(|block| self.block(block));
        self.begun.extend_from_slice(rest);
    }

    fn block(&mut self, block: &[u8]) {
        let mut context = self.salted.clone();
        context.update(block);
        self.hashes.extend_from_slice(context.finish().as_ref());
    }

    /// The tree, as it is in the image.
    pub fn finish(self) -> Vec<u8> {
        let mut levels = Vec::new();
        let mut below = self.hashes;
        loop {
            // The unused rest of a level's last block is zero.
            below.resize(below.len().next_multiple_of(BLOCK), 0);
            let last = below.len() <= BLOCK;
            let mut above = Self { salted: self.salted.clone(), hashes: Vec::new(), begun: Vec::new() };
            above.feed(&below);
            levels.push(below);
            if last {
                break;
            }
            below = above.hashes;
        }
        levels.reverse();
        levels.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_one_layout_or_none() {
        for data in [2, 3, 127, 128, 129, 130, 16384, 16385, 44_000] {
            let size = (data + tree_blocks(data)) * BLOCK as u64;
            let layout = HashTreeLayout::of(size).unwrap();
            assert_eq!((layout.data, layout.data + layout.tree), (data * BLOCK as u64, size));
            assert_eq!(HashTreeLayout::of(size + 512), None);
        }
        assert_eq!((tree_blocks(128), tree_blocks(129), tree_blocks(16384), tree_blocks(16385)), (1, 3, 129, 132));
        // Between 128 and 129 blocks of data the tree grows by two.
        assert_eq!(HashTreeLayout::of(130 * BLOCK as u64), None);
        assert_eq!(HashTreeLayout::of(0), None);
        assert_eq!(HashTreeLayout::of(8 << 30), None, "a tree of 64 MiB is not held in memory");
    }

    #[test]
    fn how_the_data_comes_makes_no_difference() {
        let data: Vec<u8> = (0..300 * BLOCK).map(|n| (n * 7 / 5) as u8).collect();
        let layout = HashTreeLayout { data: data.len() as u64, tree: 4 * BLOCK as u64 };
        let tree = |piece: usize| {
            let mut hasher = Hasher::new(layout, SALT);
            data.chunks(piece).for_each(|piece| hasher.feed(piece));
            hasher.finish()
        };
        let whole = tree(data.len());
        assert_eq!(whole.len() as u64, tree_blocks(300) * BLOCK as u64);
        // veritysetup 2.6.1, as post-image.sh calls it, makes these bytes of the same data.
        let theirs = "b542b8c3a19926d505bc895060ec2fd6f88a1d266a3142e572948da85659a7fc";
        assert_eq!(super::super::Digest::of(&whole).to_string(), theirs);
        assert_eq!([tree(1000), tree(5000), tree(65536)], [whole.clone(), whole.clone(), whole]);
    }
}
