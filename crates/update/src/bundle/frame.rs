//! A stored block: one zstd frame (RFC 8878) of the simplest kind.

use super::{Block, BundleError, Digest};
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe,
};

/// How much longer than raw a stored block may be, in bytes: the frame around a block that zstd could not compress. 9
/// for the header, 3 for each 128 KiB of at most 1 MiB, 4 for a checksum, and a margin.
pub const MAX_OVERHEAD: u32 = 48;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// In the frame header's descriptor byte: the window's size is the content's size.
const SINGLE_SEGMENT: u8 = 1 << 5;
/// Reserved and unused bits, and those of a dictionary.
const NEVER: u8 = 0b0001_1011;

/// Unpacks stored blocks. Reuses the decompressor (about 100 kB).
pub struct Unpacker(Decompressor<'static>);

impl Unpacker {
    /// # Errors
    /// When memory is exhausted.
    pub fn new() -> std::io::Result<Self> {
        Decompressor::new().map(Self)
    }

    /// As [`unpack`].
    ///
    /// # Errors
    /// As there.
    pub fn unpack(&mut self, block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Result<(), BundleError> {
        out.clear();
        let done = self.unpacked(block, stored, out);
        if done.is_err() {
            out.clear();
        }
        done
    }

    fn unpacked(&mut self, block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Result<(), BundleError> {
        let what = || format!("the block at {} of the {} image", block.at, block.image.name());
        let wrong = |problem: &str| BundleError::Unpack { what: what(), problem: problem.into() };
        let size = block.size as usize;
        if stored.len() as u64 != block.stored.end - block.stored.start {
            return Err(wrong(&format!("{} bytes came for it", stored.len())));
        }
        if block.zero {
            out.resize(size, 0);
            return Ok(());
        }
        if Digest::of(stored) != block.stored_sha256 {
            return Err(BundleError::Hash { what: what() });
        }
        shape(stored, block.size).map_err(wrong)?;
        out.reserve_exact(size);
        // One call with the whole output buffer: `out` itself is the window.
        let made = self.0.decompress_to_buffer(stored, out).map_err(|error| wrong(&error.to_string()))?;
        if made != size || out.len() != size {
            return Err(wrong(&format!("{made} bytes came out of it")));
        }
        if Digest::of(out) != block.sha256 {
            return Err(BundleError::Hash { what: format!("{}, unpacked,", what()) });
        }
        Ok(())
    }
}

/// Unpacks a stored block into `out`, which then holds `block.size` bytes and nothing else. For many, use [`Unpacker`].
///
/// Checks, in this order, stopping at the first failure: length and SHA-256 of `stored`; the shape of its frame; the
/// decompressor, with a buffer of one block and no window of its own; SHA-256 of the output. On failure `out` is empty.
///
/// # Errors
/// [`BundleError::Hash`], [`BundleError::Unpack`].
pub fn unpack(block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Result<(), BundleError> {
    Unpacker::new().map_err(|error| BundleError::io("the decompressor", &error))?.unpack(block, stored, out)
}

/// Exactly one frame, which states its size, needs no dictionary, and has a window of its size, so that no reader needs
/// more memory than one block.
fn shape(stored: &[u8], size: u32) -> Result<(), &'static str> {
    let Some((magic, [descriptor, ..])) = stored.split_first_chunk::<4>() else {
        return Err("it is too short for a frame");
    };
    if *magic != MAGIC {
        return Err("it is no zstd frame");
    }
    if descriptor & SINGLE_SEGMENT == 0 || descriptor & NEVER != 0 {
        return Err("its frame is not of one segment, or asks for a dictionary");
    }
    if !matches!(zstd_safe::get_frame_content_size(stored), Ok(Some(said)) if said == u64::from(size)) {
        return Err("its frame says another size");
    }
    match zstd_safe::find_frame_compressed_size(stored) {
        Ok(length) if length == stored.len() => Ok(()),
        _ => Err("it is not exactly one frame"),
    }
}

/// Packs raw blocks. The same zstd gives the same bytes for the same input: version 1.5.7 is linked into this program.
pub(super) struct Packer(Compressor<'static>);

impl Packer {
    /// `level` 1 to 19; `block_size` a power of two.
    pub(super) fn new(level: i32, block_size: u32) -> std::io::Result<Self> {
        let mut compressor = Compressor::new(level)?;
        // A window of one block at every level, so that frames have one segment.
        compressor.set_parameter(zstd_safe::CParameter::WindowLog(block_size.ilog2()))?;
        compressor.set_parameter(zstd_safe::CParameter::ContentSizeFlag(true))?;
        compressor.set_parameter(zstd_safe::CParameter::ChecksumFlag(false))?;
        Ok(Self(compressor))
    }

    pub(super) fn pack(&mut self, raw: &[u8], stored: &mut Vec<u8>) -> std::io::Result<()> {
        stored.clear();
        stored.reserve(zstd_safe::compress_bound(raw.len()));
        self.0.compress_to_buffer(raw, stored).map(drop)
    }
}
