//! `raspi-mcp bundle build`

use super::files;
use crate::{
    cli::{exit::Failure, say::outln},
    update::{
        bundle::{self, Plan},
        simulated,
    },
};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Of the simulated machine's boot image, in bytes.
const SIMULATED_BOOT: usize = 128 << 10;

#[derive(clap::Args)]
pub struct Args {
    /// Image of the root file system; not compressed inside, so that its blocks are found again in the next version
    #[arg(long, value_name = "IMAGE")]
    root: PathBuf,
    /// Image of the boot file system, FAT
    #[arg(long, value_name = "IMAGE", required_unless_present = "simulated_boot")]
    boot: Option<PathBuf>,
    /// In its place, one that only the simulated machine starts
    #[arg(long, conflicts_with = "boot")]
    simulated_boot: bool,
    /// What the image is of; devices take their own product only
    #[arg(long)]
    product: String,
    /// Semantic version, e.g. 1.4.0
    #[arg(long)]
    version: String,
    /// Rises with every release of the product
    #[arg(long)]
    counter: u64,
    #[arg(long, default_value = "stable")]
    channel: String,
    /// The partition layout it was made for
    #[arg(long, default_value = "mbr-ab-1")]
    layout: String,
    /// Device-tree compatible of a board it runs on, e.g. raspberrypi,4-model-b; may be repeated
    #[arg(long = "hardware", value_name = "COMPATIBLE", required = true)]
    hardware: Vec<String>,
    /// When it was made, SOURCE_DATE_EPOCH unless told; never the clock, so that the same input makes the same bytes
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    created: Option<u64>,
    /// From when on it is not installed any more, e.g. 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    expires: u64,
    /// Oldest bootloader (EEPROM) it starts with
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    min_eeprom: Option<u64>,
    /// Once it has proved itself, no image with a smaller counter is started again
    #[arg(long, value_name = "COUNTER")]
    revoke_below: Option<u64>,
    /// The settings that the program in the root image knows, as its own `raspi-mcp bundle config-keys` prints them: so that a device
    /// can tell which of its settings the release would not understand
    #[arg(long, value_name = "FILE")]
    config_keys: Option<PathBuf>,
    /// Bytes of a block: a power of two from 4096 to 1048576
    #[arg(long, value_name = "BYTES", default_value_t = 65536)]
    block_size: u32,
    /// How hard zstd works: 1 to 19
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// The bundle; it must not be there yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<(), Failure> {
    let plan = Plan {
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
        config_keys: args.config_keys.as_deref().map_or_else(|| Ok(Vec::new()), files::keys_of_settings)?,
        block_size: args.block_size,
        level: args.level,
    };
    files::warn_of_future(plan.created);
    let mut root = files::open(&args.root)?;
    let mut boot: Box<dyn bundle::Source> = match &args.boot {
        Some(path) => Box::new(files::open(path)?),
        None => Box::new(io::Cursor::new(simulated::boot_image(SIMULATED_BOOT, &plan.version)?)),
    };
    let mut spool = spool(&args.out)?;
    let mut out = BufWriter::with_capacity(1 << 20, files::create(&args.out, 0o644)?);
    let built = bundle::build(&plan, &mut root, &mut *boot, &mut spool, &mut out).map_err(Failure::from);
    let synced = built.and_then(|built| {
        let file = out.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|error| files::failed(&args.out, error)).map(|()| built)
    });
    let built = synced.inspect_err(|_| drop(fs::remove_file(&args.out)))?;
    outln!("bundle    {} ({} bytes)\nmanifest  {}", args.out.display(), built.total, built.digest);
    outln!("blocks    {}, {} of them zeros\nunsigned: sign it with `raspi-mcp bundle sign`", built.blocks, built.zeros);
    Ok(())
}

/// A file without a name beside the bundle, where there is room for one.
fn spool(out: &Path) -> Result<File, Failure> {
    let path = PathBuf::from(format!("{}.spool", out.display()));
    let mut file = files::create(&path, 0o600)?;
    fs::remove_file(&path).and_then(|()| file.flush()).map_err(|error| files::failed(&path, error))?;
    Ok(file)
}
