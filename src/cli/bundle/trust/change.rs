//! Creates a root: the first, or the successor of another.

use super::files;
use crate::cli::{exit::Failure, say::outln};
use std::path::{Path, PathBuf};
use update::{
    bundle::Digest,
    trust::{KeyRole, MAX_SIGNED, Purpose, RootFile, RootOfTrust, Signed},
};

#[derive(clap::Args)]
pub struct Args {
    /// A public key that signs roots of trust; may be repeated
    #[arg(long = "root-key", value_name = "FILE")]
    root_keys: Vec<PathBuf>,
    /// How many of these keys must sign; default: all
    #[arg(long, value_name = "NUMBER")]
    root_threshold: Option<usize>,
    /// A public key that signs releases; may be repeated
    #[arg(long = "release-key", value_name = "FILE")]
    release_keys: Vec<PathBuf>,
    /// How many of these keys must sign; default: all
    #[arg(long, value_name = "NUMBER")]
    release_threshold: Option<usize>,
    /// A public key that signs the indexes of channels; may be repeated
    #[arg(long = "channel-key", value_name = "FILE")]
    channel_keys: Vec<PathBuf>,
    /// How many of these keys must sign; default: all
    #[arg(long, value_name = "NUMBER")]
    channel_threshold: Option<usize>,
    /// The time of creation; default: SOURCE_DATE_EPOCH
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    created: Option<u64>,
    /// The time from which devices no longer trust it, e.g. 2036-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = files::time)]
    expires: u64,
    /// The new root to write; the file must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Args {
    pub(super) fn first(&self, product: String) -> Result<(), Failure> {
        let none = || KeyRole { keys: Vec::new(), threshold: 0 };
        let (created, expires) = (files::created(self.created)?, self.expires);
        let (root, release, channel) = (none(), none(), none());
        let keys = Vec::new();
        self.write(RootFile { format: 1, product, version: 1, created, expires, keys, root, release, channel })
    }

    pub(super) fn next(&self, old: &Path) -> Result<(), Failure> {
        let old =
            RootOfTrust::parse(&files::read(old, MAX_SIGNED as u64)?).map_err(|fault| files::refused(old, fault))?;
        let version = old.version() + 1;
        self.write(RootFile {
            version,
            created: files::created(self.created)?,
            expires: self.expires,
            ..old.file().clone()
        })
    }

    fn write(&self, mut file: RootFile) -> Result<(), Failure> {
        let mut all = std::mem::take(&mut file.keys);
        for (role, paths, threshold) in [
            (&mut file.root, &self.root_keys, self.root_threshold),
            (&mut file.release, &self.release_keys, self.release_threshold),
            (&mut file.channel, &self.channel_keys, self.channel_threshold),
        ] {
            if !paths.is_empty() {
                role.keys.clear();
                // The default threshold is all keys: a weaker one must be chosen explicitly.
                role.threshold = paths.len();
            }
            for path in paths {
                let key = files::public_key(path)?;
                if !all.contains(&key) {
                    all.push(key);
                }
                role.keys.push(key.id());
            }
            role.threshold = threshold.unwrap_or(role.threshold);
        }
        // Keys without a role are omitted: they cannot sign anything.
        let roles = [&file.root, &file.release, &file.channel];
        all.retain(|key| roles.iter().any(|role| role.keys.contains(&key.id())));
        file.keys = all;
        file.check()?;
        let text = serde_json::to_vec(&file).map_err(|error| files::usage(error.to_string()))?;
        let digest = Digest::of(&text);
        let signed = Signed { purpose: Purpose::Root, signatures: Vec::new(), text };
        files::create_with(&self.out, 0o644, &signed.encode())?;
        outln!("root      {} (version {})\nsha256    {digest}", self.out.display(), file.version);
        outln!("unsigned: sign it with `raspi-mcp bundle trust sign`");
        Ok(())
    }
}
