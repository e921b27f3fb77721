//! Builds a bundle of two images. Reproducible: it depends on neither the clock, the machine nor randomness.

use super::{
    BundleError, Changes, Digest, ENTRY, Envelope, Image, ImageKind, IndexRef, MAX_INDEX, Manifest, check_boot,
    frame::Packer, index::Zeros,
};
use crate::steps;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The source of an image.
pub trait ImageSource: Read + Seek {}
impl<T: Read + Seek> ImageSource for T {}

/// The content of a bundle: the manifest's fields, except for those that follow from the images.
#[derive(Clone, Debug)]
pub struct BundleContent {
    pub product: String,
    pub version: String,
    pub counter: u64,
    pub channel: String,
    pub layout: String,
    pub hardware: Vec<String>,
    pub min_eeprom: Option<u64>,
    /// Seconds since 1970.
    pub created: u64,
    pub expires: u64,
    pub revoke_below: Option<u64>,
    /// Settings of the program in the root image, in any order; empty: not stated.
    pub config_keys: Vec<String>,
    /// What the release drops, renames and adds, in any order; empty: not stated.
    pub changes: Changes,
    /// Bytes; a power of two from 4 KiB to 1 MiB.
    pub block_size: u32,
    /// zstd's level, 1 to 19.
    pub level: i32,
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Built {
    pub manifest: Manifest,
    /// SHA-256 of the manifest.
    pub digest: Digest,
    /// Size of the bundle in bytes.
    pub total: u64,
    pub blocks: u32,
    /// Blocks of zeros, which are not stored.
    pub zeros: u32,
}

/// Hears how far a build is: "packing" or "writing", and of how many bytes how many are done.
pub type BuildProgress<'a> = &'a mut dyn FnMut(&'static str, u64, u64);

/// Writes an unsigned bundle to `out`.
///
/// The images are read once and block by block; stored blocks are buffered in `spool` (empty at its start), because the
/// part before them contains their hashes. Memory: the index, and some blocks.
///
/// # Errors
/// [`BundleError`]: values out of bounds, an image that is not a whole number of sectors, a forbidden file in the boot image,
/// and errors of reading and writing. `out` is then not a bundle.
pub fn build<'s, S: Read + Write + Seek>(
    plan: &BundleContent,
    root: &'s mut dyn ImageSource,
    boot: &'s mut dyn ImageSource,
    spool: &mut S,
    out: &mut dyn Write,
    progress: BuildProgress<'_>,
) -> Result<Built, BundleError> {
    let mut manifest = plan.manifest();
    for (image, source) in manifest.images.iter_mut().zip([&mut *root, &mut *boot] as [&mut dyn ImageSource; 2]) {
        image.size = source.seek(SeekFrom::End(0)).map_err(|error| BundleError::io(name(image.kind), &error))?;
    }
    let blocks: u64 = manifest.images.iter().map(Image::blocks).sum();
    manifest.index.size = blocks.saturating_mul(ENTRY as u64);
    // Checked before hours of work: all but the hashes is known.
    manifest.check()?;
    let size = manifest.images[1].size;
    check_boot(size, &mut |at, into| {
        boot.seek(SeekFrom::Start(at))?;
        boot.read_exact(into)
    })?;
    let mut index = Vec::with_capacity((manifest.index.size as usize).min(MAX_INDEX));
    let total: u64 = manifest.images.iter().map(|image| image.size).sum();
    let (mut stored, mut zeros, mut before) = (0, 0, 0);
    for (image, source) in manifest.images.iter_mut().zip([root, boot]) {
        let packed = pack(image, plan.level, source, spool, &mut index, &mut |done| {
            progress("packing", before + done, total);
        })?;
        before += image.size;
        stored += packed.0;
        zeros += packed.1;
    }
    manifest.index.sha256 = Digest::of(&index);
    let bytes =
        serde_json::to_vec(&manifest).map_err(|error| BundleError::malformed("the manifest", error.to_string()))?;
    let envelope = Envelope::new(bytes, index.len() as u64, stored)?;
    let writing = |error: io::Error| BundleError::io("the bundle", &error);
    out.write_all(&envelope.encode()?).map_err(writing)?;
    out.write_all(&index).map_err(writing)?;
    spool.rewind().map_err(writing)?;
    let copied = steps::copy(spool, out, stored, &mut |done| progress("writing", done, stored)).map_err(writing)?;
    if copied != stored || spool.read(&mut [0]).map_err(writing)? != 0 {
        return Err(BundleError::malformed("the spool", "it was not empty, or lost bytes"));
    }
    out.flush().map_err(writing)?;
    let digest = Digest::of(&envelope.manifest);
    Ok(Built { manifest, digest, total: envelope.total, blocks: blocks as u32, zeros })
}

/// Packs one image's blocks. Returns the bytes stored and the number of zero blocks.
fn pack<S: Write>(
    image: &mut Image,
    level: i32,
    source: &mut dyn ImageSource,
    spool: &mut S,
    index: &mut Vec<u8>,
    progress: &mut dyn FnMut(u64),
) -> Result<(u64, u32), BundleError> {
    let failed = |error: io::Error| BundleError::io(name(image.kind), &error);
    source.rewind().map_err(failed)?;
    let mut whole = ring::digest::Context::new(&ring::digest::SHA256);
    let mut packer = Packer::new(level, image.block_size).map_err(failed)?;
    let (mut raw, mut stored) = (vec![0; image.block_size as usize], Vec::new());
    let (mut bytes, mut zero_blocks) = (0, 0);
    let mut zeros = Zeros::default();
    for n in 0..image.blocks() {
        let size = (image.size - n * u64::from(image.block_size)).min(image.block_size.into()) as usize;
        raw.truncate(size);
        source.read_exact(&mut raw).map_err(failed)?;
        progress(n * u64::from(image.block_size) + size as u64);
        whole.update(&raw);
        if raw.iter().all(|byte| *byte == 0) {
            index.extend_from_slice(&[0; 4 + 32]);
            index.extend_from_slice(&zeros.digest(size as u32).0);
            zero_blocks += 1;
            continue;
        }
        packer.pack(&raw, &mut stored).map_err(failed)?;
        index.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        index.extend_from_slice(&Digest::of(&stored).0);
        index.extend_from_slice(&Digest::of(&raw).0);
        spool.write_all(&stored).map_err(|error| BundleError::io("the spool", &error))?;
        bytes += stored.len() as u64;
    }
    image.sha256.0.copy_from_slice(whole.finish().as_ref());
    Ok((bytes, zero_blocks))
}

fn name(kind: ImageKind) -> String {
    format!("the {} image", kind.name())
}

impl BundleContent {
    fn manifest(&self) -> Manifest {
        let none = Digest([0; 32]);
        let image = |kind| Image { kind, size: 0, sha256: none, block_size: self.block_size };
        let mut config_keys = self.config_keys.clone();
        base::sort::sort(&mut config_keys);
        Manifest {
            format: 1,
            product: self.product.clone(),
            version: self.version.clone(),
            counter: self.counter,
            channel: self.channel.clone(),
            layout: self.layout.clone(),
            hardware: self.hardware.clone(),
            min_eeprom: self.min_eeprom,
            created: self.created,
            expires: self.expires,
            revoke_below: self.revoke_below,
            config_keys,
            changes: self.changes.sorted(),
            index: IndexRef { sha256: none, size: 0 },
            images: vec![image(ImageKind::Root), image(ImageKind::Boot)],
        }
    }
}
