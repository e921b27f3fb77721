//! `raspi-mcp bundle verify`

use super::files;
use crate::cli::{bar::Bar, exit::Failure, say::outln};
use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use update::{
    AHEAD,
    bundle::{BlockIndex, BundleError, Image, ImageKind, Manifest, Unpacker, check_boot},
};

#[derive(clap::Args)]
pub struct Args {
    /// The bundle
    bundle: PathBuf,
    /// The trusted root of trust, then its successors in order; may be repeated
    #[arg(long, value_name = "FILE", required = true)]
    trust: Vec<PathBuf>,
    /// Check expiry and time of creation at this time; default: now
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    now: Option<u64>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let (path, now) = (&args.bundle, args.now.unwrap_or_else(files::now));
    let roots = files::chain(&args.trust)?;
    roots.fresh(now)?;
    let mut file = files::open(path)?;
    let envelope = files::head(path, &mut file)?;
    let release = roots.verify_release(&envelope)?;
    release.manifest.fresh(now)?;
    release.manifest.made_by(now.saturating_add(AHEAD))?;
    let index = release.index(files::index(path, &mut file, &envelope)?)?;
    let length = file.metadata().map_err(|error| files::failed(path, error))?.len();
    if length != envelope.total {
        return Err(files::failed(path, format!("is {length} bytes long, and the bundle in it {}", envelope.total)));
    }
    let mut reader =
        Reader { path, file, index: &index, unpacker: None, last: None, stored: Vec::new(), raw: Vec::new() };
    let bar = Bar::default();
    for image in &release.manifest.images {
        reader.whole(image, &bar)?;
    }
    reader.boot(&release.manifest)?;
    drop(bar);
    outln!(
        "good      {} {} (counter {})",
        release.manifest.product,
        release.manifest.version,
        release.manifest.counter
    );
    outln!("manifest  {}\nroot      version {}", release.digest, roots.version());
    Ok(())
}

/// Decompresses blocks and caches the last one.
struct Reader<'a> {
    path: &'a Path,
    file: File,
    index: &'a BlockIndex,
    unpacker: Option<Unpacker>,
    last: Option<u32>,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl Reader<'_> {
    fn block(&mut self, n: u32) -> Result<&[u8], Failure> {
        let failed = |error: std::io::Error| files::failed(self.path, error);
        if self.last != Some(n) {
            let block = self.index.block(n);
            // Bounded by Release::index to slightly more than 1 MiB.
            self.stored.resize((block.stored.end - block.stored.start) as usize, 0);
            self.file.read_exact_at(&mut self.stored, block.stored.start).map_err(failed)?;
            let unpacker = match &mut self.unpacker {
                Some(unpacker) => unpacker,
                none => none.insert(Unpacker::new().map_err(failed)?),
            };
            self.last = None;
            unpacker.unpack(&block, &self.stored, &mut self.raw)?;
            self.last = Some(n);
        }
        Ok(&self.raw)
    }

    /// Verifies every block of an image and the hash of the whole image.
    fn whole(&mut self, image: &Image, bar: &Bar) -> Result<(), Failure> {
        let mut whole = ring::digest::Context::new(&ring::digest::SHA256);
        let total = u64::from(self.index.len());
        for n in self.index.range(image.kind) {
            whole.update(self.block(n)?);
            bar.show("verifying", u64::from(n) + 1, total, image.kind.name());
        }
        if whole.finish().as_ref() == image.sha256.0 {
            Ok(())
        } else {
            Err(BundleError::Hash { what: format!("the {} image", image.kind.name()) }.into())
        }
    }

    /// Checks the names in the boot image, as `build` and a device do.
    fn boot(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let Some(image) = manifest.image(ImageKind::Boot) else { return Ok(()) };
        let start = self.index.range(image.kind).start;
        check_boot(image.size, &mut |at, into| {
            // A page never spans two blocks, because blocks are whole pages; image.size / block_size is below 2^18.
            let (n, from) = (at / u64::from(image.block_size), (at % u64::from(image.block_size)) as usize);
            let raw = self.block(start + n as u32).map_err(|failure| std::io::Error::other(failure.message))?;
            into.copy_from_slice(&raw[from..from + into.len()]);
            Ok(())
        })?;
        Ok(())
    }
}
