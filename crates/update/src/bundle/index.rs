//! The index: the hashes and the position of each block. 68 bytes a block, in memory as in the file.

use super::{BundleError, Digest, Envelope, Image, ImageKind, MAX_OVERHEAD, Manifest};
use std::ops::Range;

/// Bytes of an entry: stored length (4, little endian), SHA-256 stored, SHA-256 raw.
pub const ENTRY: usize = 68;
/// A position is kept for every so many blocks; in between lengths are added up.
const STRIDE: usize = 64;
const WHAT: &str = "the index";

/// The blocks of a bundle: those of the root image, then those of the boot image, each in order.
#[derive(Debug)]
pub struct BlockIndex {
    entries: Vec<u8>,
    /// Position of every [`STRIDE`]th stored block.
    places: Vec<u64>,
    images: Vec<Image>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub image: ImageKind,
    /// Offset in the area (and in the image), in bytes.
    pub at: u64,
    /// Size of the raw block in bytes.
    pub size: u32,
    /// Its range in the bundle, in bytes; empty for a block of zeros.
    pub stored: Range<u64>,
    /// SHA-256 of the stored bytes; 32 zeros for a block of zeros, which has none.
    pub stored_sha256: Digest,
    /// SHA-256 of the raw block.
    pub sha256: Digest,
    /// Whether it is `size` bytes of zero, and not stored.
    pub zero: bool,
}

impl BlockIndex {
    /// Makes an unverified index, for display and comparison; otherwise use [`crate::trust::VerifiedRelease::index`].
    ///
    /// # Errors
    /// As there.
    pub fn unverified(bytes: Vec<u8>, manifest: &Manifest, envelope: &Envelope) -> Result<Self, BundleError> {
        Self::decode(bytes, manifest, envelope.blocks_at, envelope.total)
    }

    /// Makes an index of the bytes that `manifest` names by hash and length. Takes ownership, and needs little more
    /// than 68 bytes per block.
    ///
    /// # Errors
    /// [`BundleError::Hash`], and [`BundleError::Malformed`] if signed content violates the format.
    pub(crate) fn decode(
        entries: Vec<u8>,
        manifest: &Manifest,
        blocks_at: u64,
        total: u64,
    ) -> Result<Self, BundleError> {
        if entries.len() as u64 != manifest.index.size || Digest::of(&entries) != manifest.index.sha256 {
            return Err(BundleError::Hash { what: WHAT.into() });
        }
        let mut index = Self { entries, places: Vec::new(), images: manifest.images.clone() };
        let blocks = index.images.iter().try_fold(0u64, |sum, image| sum.checked_add(image.blocks()));
        if blocks.and_then(|blocks| blocks.checked_mul(ENTRY as u64)) != Some(index.entries.len() as u64) {
            return Err(BundleError::malformed(WHAT, "its length is not that of the images' blocks"));
        }
        index.places.reserve_exact(index.entries.len() / ENTRY / STRIDE + 1);
        let mut place = blocks_at;
        let mut zeros = Zeros::default();
        for n in 0..index.len() {
            if (n as usize).is_multiple_of(STRIDE) {
                index.places.push(place);
            }
            let wrong = |problem: &str| BundleError::malformed(format!("block {n} of {WHAT}"), problem);
            let (length, stored, raw) = index.entry(n);
            let (_, _, size) = index.spot(n);
            if length > size + MAX_OVERHEAD {
                return Err(wrong("it is stored longer than any block of its size is"));
            }
            if length == 0 && (stored != Digest([0; 32]) || raw != zeros.digest(size)) {
                return Err(wrong("nothing is stored for it, and it is not the block of zeros"));
            }
            place = place.checked_add(length.into()).ok_or_else(|| wrong("its place overflows"))?;
        }
        if place != total {
            return Err(BundleError::malformed(WHAT, format!("its blocks end at {place}, and the bundle at {total}")));
        }
        Ok(index)
    }

    /// Number of blocks.
    pub fn len(&self) -> u32 {
        // MAX_INDEX bytes are fewer than 2^18 entries.
        (self.entries.len() / ENTRY) as u32
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Block `n`.
    ///
    /// # Panics
    /// When there is none: `n` is not below [`BlockIndex::len`].
    pub fn block(&self, n: u32) -> Block {
        let (image, at, size) = self.spot(n);
        let (length, stored_sha256, sha256) = self.entry(n);
        let before = n as usize / STRIDE * STRIDE;
        let skipped: u64 = (before as u32..n).map(|n| u64::from(self.entry(n).0)).sum();
        let start = self.places[n as usize / STRIDE] + skipped;
        let stored = start..start + u64::from(length);
        Block { image, at, size, stored, stored_sha256, sha256, zero: length == 0 }
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        (0..self.len()).map(|n| self.block(n))
    }

    /// The numbers of the blocks of one image.
    pub fn range(&self, kind: ImageKind) -> Range<u32> {
        let mut start = 0;
        for image in &self.images {
            let end = start + image.blocks() as u32;
            if image.kind == kind {
                return start..end;
            }
            start = end;
        }
        start..start
    }

    /// The bytes it was made of.
    pub fn as_bytes(&self) -> &[u8] {
        &self.entries
    }

    fn entry(&self, n: u32) -> (u32, Digest, Digest) {
        let entry = &self.entries[n as usize * ENTRY..][..ENTRY];
        let digest = |at: usize| {
            let mut digest = [0; 32];
            digest.copy_from_slice(&entry[at..at + 32]);
            Digest(digest)
        };
        (u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]), digest(4), digest(36))
    }

    /// Image, offset in it and size of block `n`.
    fn spot(&self, n: u32) -> (ImageKind, u64, u32) {
        let mut rest = u64::from(n);
        for image in &self.images {
            if rest < image.blocks() {
                let at = rest * u64::from(image.block_size);
                // At most block_size, which is a u32.
                return (image.kind, at, (image.size - at).min(image.block_size.into()) as u32);
            }
            rest -= image.blocks();
        }
        panic!("block {n} of {}", self.len())
    }
}

/// SHA-256 of blocks of zeros, for the two or three block sizes of one bundle.
#[derive(Default)]
pub(super) struct Zeros(Vec<(u32, Digest)>);

impl Zeros {
    pub(super) fn digest(&mut self, size: u32) -> Digest {
        if let Some((_, digest)) = self.0.iter().find(|(known, _)| *known == size) {
            return *digest;
        }
        let digest = Digest::of(&vec![0; size as usize]);
        self.0.push((size, digest));
        digest
    }
}
