//! `raspi-mcp bundle sign`

use super::files;
use crate::cli::{exit::Failure, say::outln};
use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use update::{
    bundle::{self, BundleError},
    trust,
};

#[derive(clap::Args)]
pub struct Args {
    /// The bundle, or a file that contains only its head (`bundle inspect --head`)
    bundle: PathBuf,
    /// The secret key
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    key: Option<PathBuf>,
    /// Copy the signatures from this bundle or head, which must have the same manifest
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    from: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let path = &args.bundle;
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| files::failed(path, error))?;
    let mut envelope = files::head(path, &mut file)?;
    files::warn_of_future(bundle::Manifest::parse(&envelope.manifest)?.created);
    match (&args.key, &args.from) {
        (Some(key), _) => trust::sign(&mut envelope, &files::secret_key(key)?)?,
        (None, Some(from)) => merge(&mut envelope, from)?,
        (None, None) => return Err(files::usage("name a key with --key, or a signed head with --from")),
    }
    // Only bytes in the signature slots change, and no block moves.
    let head = envelope.encode()?;
    file.write_all_at(&head, 0).and_then(|()| file.sync_all()).map_err(|error| files::failed(path, error))?;
    outln!("manifest   {}", bundle::Digest::of(&envelope.manifest));
    for signature in &envelope.signatures {
        outln!("signed by  {}", signature.key_id);
    }
    Ok(())
}

fn merge(envelope: &mut bundle::Envelope, from: &Path) -> Result<(), Failure> {
    let other = files::head(from, &mut files::open(from)?)?;
    if (&other.manifest, other.index_at, other.total) != (&envelope.manifest, envelope.index_at, envelope.total) {
        return Err(files::failed(from, "is the head of another bundle"));
    }
    for signature in other.signatures {
        if !envelope.signatures.iter().any(|known| known.key_id == signature.key_id) {
            envelope.signatures.push(signature);
        }
    }
    let (size, limit) = (envelope.signatures.len() as u64, bundle::MAX_SIGNATURES as u64);
    if size > limit {
        return Err(BundleError::TooLong { what: "the list of signatures".into(), size, limit }.into());
    }
    Ok(())
}
