//! A block, as it is stored: one zstd frame (RFC 8878) of the plainest kind.

use super::{Block, Digest, Fault};
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe,
};

/// How many bytes a block may be longer stored than raw: a frame around blocks that zstd could not make smaller. 9 for the header, 3
/// for each 128 KiB of at most 1 MiB, 4 for a checksum, and some to spare.
pub const MAX_OVERHEAD: u32 = 48;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// In the frame header's descriptor byte: the content's size is the window's size.
const SINGLE_SEGMENT: u8 = 1 << 5;
/// Reserved and unused bits, and those of a dictionary.
const NEVER: u8 = 0b0001_1011;

/// Makes raw blocks of stored ones. Keeps the decompressor (about 100 kB) from one to the next.
pub struct Unpacker(Decompressor<'static>);

impl Unpacker {
    /// # Errors
    /// When there is no memory for it.
    pub fn new() -> std::io::Result<Self> {
        Decompressor::new().map(Self)
    }

    /// As [`unpack`].
    ///
    /// # Errors
    /// As there.
    pub fn unpack(&mut self, block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        out.clear();
        let done = self.unpacked(block, stored, out);
        if done.is_err() {
            out.clear();
        }
        done
    }

    fn unpacked(&mut self, block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let what = || format!("the block at {} of the {} image", block.at, block.image.name());
        let wrong = |problem: &str| Fault::Unpack { what: what(), problem: problem.into() };
        let size = block.size as usize;
        if stored.len() as u64 != block.stored.end - block.stored.start {
            return Err(wrong(&format!("{} bytes came for it", stored.len())));
        }
        if block.zero {
            out.resize(size, 0);
            return Ok(());
        }
        if Digest::of(stored) != block.stored_sha256 {
            return Err(Fault::Hash { what: what() });
        }
        shape(stored, block.size).map_err(wrong)?;
        out.reserve_exact(size);
        // One call, into all the room there is: `out` itself is the window.
        let made = self.0.decompress_to_buffer(stored, out).map_err(|error| wrong(&error.to_string()))?;
        if made != size || out.len() != size {
            return Err(wrong(&format!("{made} bytes came out of it")));
        }
        if Digest::of(out) != block.sha256 {
            return Err(Fault::Hash { what: format!("{}, unpacked,", what()) });
        }
        Ok(())
    }
}

/// Makes the raw block of the stored one, in `out`, which then holds `block.size` bytes and nothing else. For many, [`Unpacker`].
///
/// In this order, and nothing after the first that fails: length and SHA-256 of `stored`; the shape of its frame; the decompressor, which
/// has the room of one block and no window of its own; SHA-256 of what came out. When it fails, `out` is empty.
///
/// # Errors
/// [`Fault::Hash`], [`Fault::Unpack`].
pub fn unpack(block: &Block, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    Unpacker::new().map_err(|error| Fault::io("the decompressor", &error))?.unpack(block, stored, out)
}

/// One frame and no more, that says its size, needs no dictionary, and whose window is its size: so no reader needs more memory than one
/// block for it.
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

/// Makes stored blocks of raw ones. The same zstd makes the same bytes of the same input: version 1.5.7 comes with this program.
pub(super) struct Packer(Compressor<'static>);

impl Packer {
    /// `level` 1 to 19; `block_size` a power of two.
    pub(super) fn new(level: i32, block_size: u32) -> std::io::Result<Self> {
        let mut compressor = Compressor::new(level)?;
        // The window spans the block, whatever the level would take: frames are then of one segment.
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
