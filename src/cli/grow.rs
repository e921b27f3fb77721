//! `raspi-mcp grow`: for raspi-mcp-grow.service, and for people who copied a card to a larger one.

use super::{exit::Failure, say::outln};
use appliance::grow::{self, FileSystemResult, Real};
use base::os::Root;
use std::path::{Path, PathBuf};
use update::disk::Layout;

/// Where an image has its own layout.
const LAYOUT: &str = "/usr/share/raspi-mcp/layout.toml";

/// It runs before anything else of ours, so no configuration is read: one that is wrong is no reason to keep a small disk.
#[derive(clap::Args)]
pub struct Args {
    /// Use this card layout instead of the image's
    #[arg(long, value_name = "FILE")]
    layout: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let layout = args.layout.as_deref().map_or_else(|| Layout::of(Path::new(LAYOUT)), Layout::read)?;
    let report = grow::grow(&Root::system(), &layout, &Real, args.dry_run)?;
    let file_system = match report.file_system {
        FileSystemResult::Grown => "its file system has grown with it",
        FileSystemResult::Full => "its file system fills it",
        FileSystemResult::NotMounted => "its file system is not mounted and stays as large as it was",
        FileSystemResult::NotExt4 => "no ext4 is on it",
        FileSystemResult::DryRun => "nothing was written",
    };
    let would = if args.dry_run { "would have" } else { "has" };
    let mib = |bytes: u64| bytes >> 20;
    match report.sectors.as_slice() {
        [] => outln!("{} {would} all there is, {} MiB; {file_system}", report.device, mib(report.after)),
        sectors => outln!(
            "{} {would} {} MiB in place of {}, by sectors {sectors:?} of the card; {file_system}",
            report.device,
            mib(report.after),
            mib(report.before)
        ),
    }
    Ok(())
}
