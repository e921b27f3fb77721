//! `raspi-mcp channel publish`

use super::Place;
use crate::cli::{bar::Bar, bundle::files, exit::Failure};
use std::path::{Path, PathBuf};
use update::{
    AHEAD,
    bundle::{Digest, Manifest},
    channel::{ChannelIndex, IndexChange, MAX_NOTES, ReleaseEntry, Rollout, Tree, publish, salt},
    trust::MAX_SIGNED,
};

#[derive(clap::Args)]
pub struct Args {
    /// The release's bundle, which is copied into the folder. Without it, the index is renewed
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Where the bundle is served if not from the folder: an https address, or a path below the channel's base
    #[arg(long, value_name = "URL", requires = "bundle")]
    url: Option<String>,
    /// The percentage of devices that get it
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: u8,
    /// Only for devices in this ring; may be repeated
    #[arg(long = "ring", value_name = "NAME", requires = "bundle")]
    rings: Vec<String>,
    /// The lowest counter of a running release from which it can be installed
    #[arg(long, value_name = "N", requires = "bundle")]
    min_counter: Option<u64>,
    /// A plain text file with release notes
    #[arg(long, value_name = "FILE", requires = "bundle")]
    notes: Option<PathBuf>,
    /// The address of more release notes
    #[arg(long, value_name = "URL", requires = "bundle")]
    notes_url: Option<String>,
    /// The product identifier, for the first index of a channel without a release
    #[arg(long, value_name = "NAME")]
    product: Option<String>,
    /// A root of trust to publish for devices that have its predecessor; may be repeated
    #[arg(long = "root", value_name = "FILE")]
    roots: Vec<PathBuf>,
}

pub fn run(place: &Place, args: Args) -> Result<(), Failure> {
    let tree = Tree::open(&place.dir)?;
    let last = tree.last(&place.channel)?;
    let Some(path) = &args.bundle else {
        let first =
            || args.product.clone().map(|product| empty(place, product)).ok_or_else(|| super::nothing_there(place));
        let last = last.map_or_else(first, Ok)?;
        serve_roots(&tree, &args.roots)?;
        return place.next(&tree, last, IndexChange::Renew);
    };
    let mut file = files::open(path)?;
    let envelope = files::head(path, &mut file)?;
    let manifest = Manifest::parse(&envelope.manifest)?;
    let digest = Digest::of(&envelope.manifest);
    check(place, path, &file, &envelope, &manifest)?;
    let last = last.unwrap_or_else(|| empty(place, manifest.product.clone()));
    if last.product != manifest.product {
        return Err(files::failed(path, format!("is of {}, and the channel of {}", manifest.product, last.product)));
    }
    let name = format!("{}-{}.bundle", manifest.product, manifest.version);
    let notes = args.notes.as_ref().map(|notes| files::read(notes, MAX_NOTES as u64)).transpose()?.unwrap_or_default();
    let offer = ReleaseEntry {
        version: manifest.version.clone(),
        counter: manifest.counter,
        manifest: digest,
        url: args.url.clone().unwrap_or_else(|| format!("bundles/{name}")),
        size: envelope.total,
        released: place.created(),
        layout: manifest.layout.clone(),
        hardware: manifest.hardware.clone(),
        rollout: Rollout { percent: args.percent, salt: salt(&digest) },
        rings: args.rings,
        min_counter: args.min_counter,
        notes: String::from_utf8_lossy(&notes).trim_end().to_owned(),
        notes_url: args.notes_url,
    };
    // Check before a gigabyte is copied.
    let change = IndexChange::Add(Box::new(offer));
    publish(last.clone(), change.clone(), place.created(), u64::MAX >> 32)?;
    serve_roots(&tree, &args.roots)?;
    if args.url.is_none() {
        let bar = Bar::default();
        tree.put_bundle(path, &name, &mut |done, total| {
            bar.show("copying", done, total, &files::mebibytes(done, total))
        })?;
    }
    place.next(&tree, last, change)
}

/// The empty index that the first one follows.
fn empty(place: &Place, product: String) -> ChannelIndex {
    let (format, channel, created) = (1, place.channel.clone(), place.created());
    ChannelIndex {
        format,
        product,
        channel,
        sequence: 0,
        created,
        expires: created + 1,
        paused: None,
        releases: vec![],
        revoked: vec![],
    }
}

/// Checks that devices will accept the bundle.
fn check(
    place: &Place,
    path: &Path,
    file: &std::fs::File,
    envelope: &update::bundle::Envelope,
    manifest: &Manifest,
) -> Result<(), Failure> {
    // By this machine's clock, regardless of --created: devices would refuse it until that time.
    manifest.made_by(files::now().saturating_add(AHEAD)).map_err(|fault| files::refused(path, fault))?;
    let there = file.metadata().map_err(|error| files::failed(path, error))?.len();
    if there != envelope.total {
        return Err(files::failed(path, format!("has {there} bytes, and its head says {}", envelope.total)));
    }
    if manifest.channel != place.channel {
        let (is, wanted) = (&manifest.channel, &place.channel);
        return Err(files::failed(
            path,
            format!("was built for the channel {is}, so no device takes it from {wanted}"),
        ));
    }
    if place.trust.is_empty() {
        return Ok(());
    }
    let release = files::chain(&place.trust)?.verify_release(envelope);
    release.map(drop).map_err(|fault| files::refused(path, fault))
}

fn serve_roots(tree: &Tree, roots: &[PathBuf]) -> Result<(), Failure> {
    roots.iter().try_for_each(|path| Ok(tree.put_root(&files::read(path, MAX_SIGNED as u64)?).map(drop)?))
}
