//! `raspi-mcp bundle inspect`

use super::files::{self, shown};
use crate::cli::{exit::Failure, say::outln};
use std::path::PathBuf;
use update::bundle::{Digest, Manifest};

#[derive(clap::Args)]
pub struct Args {
    /// The bundle, or its head
    bundle: PathBuf,
    /// Print only the exact bytes of the manifest, which is JSON
    #[arg(long, conflicts_with = "head")]
    json: bool,
    /// Write only the head to this file, which is enough for signing
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.bundle;
    let envelope = files::head(path, &mut files::open(path)?)?;
    let manifest = Manifest::parse(&envelope.manifest)?;
    if args.json {
        outln!("{}", String::from_utf8_lossy(&envelope.manifest));
        return Ok(());
    }
    if let Some(head) = &args.head {
        files::create_with(head, 0o644, &envelope.encode()?)?;
    }
    outln!("says of itself (nothing here was verified; `bundle verify` does)\n");
    outln!("product    {} {} (counter {})", manifest.product, manifest.version, manifest.counter);
    outln!(
        "channel    {}\nlayout     {}\nhardware   {}",
        manifest.channel,
        manifest.layout,
        manifest.hardware.join(" ")
    );
    outln!("created    {}\nexpires    {}", shown(manifest.created), shown(manifest.expires));
    if let Some(time) = manifest.min_eeprom {
        outln!("EEPROM     {} or newer", shown(time));
    }
    if let Some(counter) = manifest.revoke_below {
        outln!("revokes    counters below {counter}");
    }
    if !manifest.config_keys.is_empty() {
        outln!("settings   {} known to its program", manifest.config_keys.len());
    }
    let services = &manifest.changes.services;
    services.drops.iter().for_each(|name| outln!("drops      {name}"));
    services.renames.iter().for_each(|one| outln!("renames    {} to {}", one.from, one.to));
    services.adds.iter().for_each(|name| outln!("adds       {name}"));
    let settings = &manifest.changes.settings;
    settings.drops.iter().for_each(|key| outln!("drops      setting {key}"));
    settings.renames.iter().for_each(|one| outln!("renames    setting {} to {}", one.from, one.to));
    for image in &manifest.images {
        outln!("{:9}  {} bytes in {} blocks of {}", image.kind.name(), image.size, image.blocks(), image.block_size);
    }
    outln!("bundle     {} bytes, {} of them blocks", envelope.total, envelope.total - envelope.blocks_at);
    outln!("manifest   {}", Digest::of(&envelope.manifest));
    for signature in &envelope.signatures {
        outln!("signed by  {}", signature.key_id);
    }
    if envelope.signatures.is_empty() {
        outln!("signed by  nobody");
    }
    Ok(())
}
