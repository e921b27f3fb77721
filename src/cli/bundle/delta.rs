//! `raspi-mcp bundle delta-size`

use super::files;
use crate::cli::{bar::Bar, exit::Failure, say::outln};
use std::{
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};
use update::bundle::{
    BlockIndex, BundleError, Manifest, Unpacker,
    delta::{self, Delta},
};

#[derive(clap::Args)]
pub struct Args {
    /// The version on the device: a bundle, or an image of a file system
    old: PathBuf,
    /// The new version: the same kind of file
    new: PathBuf,
    /// For images: block size in bytes, a power of two from 4096 to 1048576; may be repeated
    #[arg(long = "block-size", value_name = "BYTES", default_values_t = [16384, 65536])]
    block_sizes: Vec<u32>,
    /// For images: zstd compression level, 1 to 19
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let bundles = (is_bundle(&args.old)?, is_bundle(&args.new)?);
    if bundles.0 != bundles.1 {
        return Err(files::usage("one of them is a bundle and the other is not: name two bundles, or two images"));
    }
    outln!(
        "{:>8} {:>8} {:>8} {:>12} {:>10} {:>12} {:>12} {:>7}",
        "block",
        "blocks",
        "changed",
        "image",
        "index",
        "bundle",
        "delta",
        "share"
    );
    if bundles.0 {
        let (old, new) = (unverified_index(&args.old)?, unverified_index(&args.new)?);
        let size = |index: &update::bundle::BlockIndex| (!index.is_empty()).then(|| index.block(0).size);
        if size(&old) != size(&new) {
            return Err(files::usage("their blocks have different sizes, so no block of one is in the other"));
        }
        let mut file = files::open(&args.new)?;
        let unpacker = Unpacker::new().map_err(|error| BundleError::io("the decompressor", &error));
        let (mut stored, mut unpacker) = (Vec::new(), unpacker?);
        let (bar, total) = (Bar::default(), new.blocks().last().map_or(0, |block| block.stored.end));
        let delta = delta::between_bundles(&old, &new, &mut |block, raw| {
            let failed = |error: std::io::Error| BundleError::io("the new bundle", &error);
            stored.resize((block.stored.end - block.stored.start) as usize, 0);
            file.seek(SeekFrom::Start(block.stored.start)).map_err(failed)?;
            file.read_exact(&mut stored).map_err(failed)?;
            bar.show("reading", block.stored.end, total, &files::mebibytes(block.stored.end, total));
            unpacker.unpack(block, &stored, raw)
        })?;
        drop(bar);
        say(size(&new).unwrap_or(0), &delta);
        return Ok(());
    }
    for size in &args.block_sizes {
        if !size.is_power_of_two() || !(4096..=1 << 20).contains(size) {
            return Err(files::usage(format!("--block-size {size}: a power of two from 4096 to 1048576 is wanted")));
        }
        let (mut old, mut new) = (files::open(&args.old)?, files::open(&args.new)?);
        let bar = Bar::default();
        let mut shown = |done, total| bar.show("packing", done, total, &files::mebibytes(done, total));
        let delta = delta::between_images(&mut old, &mut new, *size, args.level, &mut shown)?;
        drop(bar);
        say(*size, &delta);
    }
    Ok(())
}

/// Prints the sizes of bundle and delta, including the index but not the head.
fn say(size: u32, delta: &Delta) {
    let index = delta.blocks * update::bundle::ENTRY as u64;
    let (whole, part) = (delta.stored + index, delta.fetched + index);
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    let Delta { blocks, changed, raw, .. } = delta;
    outln!("{size:>8} {blocks:>8} {changed:>8} {raw:>12} {index:>10} {whole:>12} {part:>12} {share:>6.1}%");
}

fn is_bundle(path: &Path) -> Result<bool, Failure> {
    let mut file = files::open(path)?;
    let mut start = Vec::new();
    (&mut file).take(8).read_to_end(&mut start).map_err(|error| files::failed(path, error))?;
    file.rewind().map_err(|error| files::failed(path, error))?;
    Ok(update::bundle::Envelope::read(&start).is_ok() && start.len() == 8)
}

/// A bundle's index, without verification.
fn unverified_index(path: &Path) -> Result<BlockIndex, Failure> {
    let mut file = files::open(path)?;
    let envelope = files::head(path, &mut file)?;
    let manifest = Manifest::parse(&envelope.manifest)?;
    Ok(BlockIndex::unverified(files::index(path, &mut file, &envelope)?, &manifest, &envelope)?)
}
