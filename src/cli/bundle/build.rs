//! `raspi-mcp bundle build`

use super::{changed, files, publishing};
use crate::cli::{bar::Bar, exit::Failure, say::outln};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use update::{
    bundle::{self, BundleContent, Changes},
    simulated,
};

/// Size of the simulated machine's boot image, in bytes.
const SIMULATED_BOOT: usize = 128 << 10;

#[derive(clap::Args)]
pub struct Args {
    /// Image of the root file system. Do not compress its contents, so that the next version can reuse its blocks
    #[arg(long, value_name = "IMAGE")]
    root: PathBuf,
    /// Image of the boot file system (FAT)
    #[arg(long, value_name = "IMAGE", required_unless_present = "simulated_boot")]
    boot: Option<PathBuf>,
    /// Use a boot image that only the simulated machine can boot
    #[arg(long, conflicts_with = "boot")]
    simulated_boot: bool,
    /// The product identifier; devices accept only their own product
    #[arg(long)]
    product: String,
    /// Semantic version, e.g. 1.4.0
    #[arg(long)]
    version: String,
    /// The release counter; it must increase with every release of the product
    #[arg(long)]
    counter: u64,
    /// The update channel
    #[arg(long, default_value = "stable")]
    channel: String,
    /// The partition layout that the images were made for
    #[arg(long, default_value = "mbr-ab-1")]
    layout: String,
    /// Device-tree compatible of a supported board, e.g. raspberrypi,4-model-b; may be repeated
    #[arg(long = "hardware", value_name = "COMPATIBLE", required = true)]
    hardware: Vec<String>,
    /// When it was made; default: SOURCE_DATE_EPOCH. The clock is never used, so that the same input produces the same bytes
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    created: Option<u64>,
    /// The time from which devices no longer install it, e.g. 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    expires: u64,
    /// The build time of the oldest bootloader (EEPROM) that can boot it
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    min_eeprom: Option<u64>,
    /// After this release is committed, never boot an image with a smaller counter again
    #[arg(long, value_name = "COUNTER")]
    revoke_below: Option<u64>,
    /// A list of the settings that the program in the root image knows, as printed by its own `raspi-mcp bundle config-keys`. A device uses
    /// it to report which of its settings the release would not understand
    #[arg(long, value_name = "FILE")]
    config_keys: Option<PathBuf>,
    /// What the release drops, renames and adds, as the JSON of the manifest's `changes` (docs/bundle-format.md). Devices with version
    /// 0.2.0 or earlier do not accept it
    #[arg(long, value_name = "FILE")]
    changes: Option<PathBuf>,
    /// The folder of the root file system that is in the root image, to compare its services with those of the previous release. An
    /// image can be mounted: `mount -o ro,loop root.img FOLDER`
    #[arg(long, value_name = "FOLDER", requires = "previous_tree")]
    tree: Option<PathBuf>,
    /// The folder of the previous release's root file system. Services that started with the machine there, do not in `--tree` and are
    /// not named by `--changes` are warned of
    #[arg(long, value_name = "FOLDER", requires = "tree")]
    previous_tree: Option<PathBuf>,
    /// The previous release's bundle, or its head. Settings that it knows, that `--config-keys` lacks and that are not named by `--changes`
    /// are warned of
    #[arg(long, value_name = "BUNDLE", requires = "config_keys")]
    previous_bundle: Option<PathBuf>,
    /// Block size in bytes: a power of two from 4096 to 1048576
    #[arg(long, value_name = "BYTES", default_value_t = 65536)]
    block_size: u32,
    /// zstd compression level: 1 to 19
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// The bundle to write; the file must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let plan = BundleContent {
        product: args.product,
        version: args.version,
        counter: args.counter,
        channel: args.channel,
        layout: args.layout,
        hardware: args.hardware,
        min_eeprom: args.min_eeprom,
        created: files::created(args.created)?,
        expires: args.expires,
        revoke_below: args.revoke_below,
        config_keys: args.config_keys.as_deref().map_or_else(|| Ok(Vec::new()), publishing::keys_of_settings)?,
        changes: args.changes.as_deref().map_or_else(|| Ok(Changes::default()), changed::of_file)?,
        block_size: args.block_size,
        level: args.level,
    };
    files::warn_of_future(plan.created);
    if let (Some(previous), Some(tree)) = (&args.previous_tree, &args.tree) {
        changed::warn_of_services(previous, tree, &plan.changes.services)?;
    }
    if let Some(previous) = &args.previous_bundle {
        changed::warn_of_settings(previous, &plan)?;
    }
    let mut root = files::open(&args.root)?;
    let mut boot: Box<dyn bundle::ImageSource> = match &args.boot {
        Some(path) => Box::new(files::open(path)?),
        None => Box::new(io::Cursor::new(simulated::boot_image(SIMULATED_BOOT, &plan.version)?)),
    };
    let mut spool = spool(&args.out)?;
    let mut out = BufWriter::with_capacity(1 << 20, files::create(&args.out, 0o644)?);
    let bar = Bar::default();
    let mut shown = |word: &'static str, done, total| bar.show(word, done, total, &files::mebibytes(done, total));
    let built = bundle::build(&plan, &mut root, &mut *boot, &mut spool, &mut out, &mut shown).map_err(Failure::from);
    let synced = built.and_then(|built| {
        let file = out.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|error| files::failed(&args.out, error)).map(|()| built)
    });
    drop(bar);
    let built = synced.inspect_err(|_| drop(fs::remove_file(&args.out)))?;
    outln!("bundle    {} ({} bytes)\nmanifest  {}", args.out.display(), built.total, built.digest);
    outln!("blocks    {}, {} of them zeros\nunsigned: sign it with `raspi-mcp bundle sign`", built.blocks, built.zeros);
    Ok(())
}

/// An unnamed temporary file in the folder of the bundle, where there is room for one.
fn spool(out: &Path) -> Result<File, Failure> {
    let path = PathBuf::from(format!("{}.spool", out.display()));
    let mut file = files::create(&path, 0o600)?;
    fs::remove_file(&path).and_then(|()| file.flush()).map_err(|error| files::failed(&path, error))?;
    Ok(file)
}
