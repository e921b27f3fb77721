//! A channel's files on the publisher's disk. A concurrent reader finds either the old index or the new one.

use super::{ChannelIndex, INDEX, ROOTS, staged};
use crate::{
    bundle::is_word,
    steps,
    trust::{MAX_SIGNED, Purpose, RootOfTrust, SecretKey, Signed},
};
use base::{
    error::{ErrorCode, ToolError},
    os::{if_there, lock::Lock, whole},
};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// The folder of bundles.
const BUNDLES: &str = "bundles";

/// Signs `index` with `keys`, as devices read it. `roots`: the root of trust that must accept it.
///
/// # Errors
/// `verification_failed` when devices would reject it.
pub fn sign(index: &ChannelIndex, keys: &[SecretKey], roots: Option<&RootOfTrust>) -> Result<Vec<u8>, ToolError> {
    let text = index.encode()?;
    let signatures = keys.iter().map(|key| key.sign(Purpose::Channel, &text)).collect();
    let signed = Signed { purpose: Purpose::Channel, signatures, text };
    if let Some(roots) = roots {
        roots.verify_channel(&signed.text, &signed.signatures)?;
        roots.fresh(index.created)?;
    }
    let bytes = signed.encode();
    // Parsed as devices will: too long, or one key twice.
    Signed::parse(&bytes, Purpose::Channel)?;
    Ok(bytes)
}

/// A folder that is served as it is. One process at a time can hold it.
#[derive(Debug)]
pub struct Tree {
    folder: PathBuf,
    _lock: Lock,
}

impl Tree {
    /// Opens it, creating it if missing.
    ///
    /// # Errors
    /// `conflict` while another process publishes there, `unavailable` when it cannot be written.
    pub fn open(folder: &Path) -> Result<Self, ToolError> {
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        let lock = File::open(folder).map_err(|error| failed(folder, &error))?;
        let lock = Lock::take(lock).map_err(|error| failed(folder, &error))?.ok_or_else(|| {
            ToolError::new(ErrorCode::Conflict, format!("somebody else publishes in {} right now", folder.display()))
                .hint("try again when they are done: each index has a number of its own")
        })?;
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }

    /// The current index of `channel`; its signatures are not checked.
    ///
    /// # Errors
    /// `verification_failed` when it is invalid, `unavailable` when it cannot be read.
    pub fn last(&self, channel: &str) -> Result<Option<ChannelIndex>, ToolError> {
        let path = self.index(channel)?;
        let Some(bytes) = if_there(read(&path)).map_err(|error| failed(&path, &error))? else { return Ok(None) };
        Ok(Some(ChannelIndex::parse(&Signed::parse(&bytes, Purpose::Channel)?.text)?))
    }

    /// Signs `index` with `keys` and replaces the current one. `roots`: the root of trust that must accept it.
    ///
    /// # Errors
    /// `verification_failed` when devices would reject it, `conflict` when there is another index with its number by now: this process
    /// hung, and a pause passed it ([`staged`]). Then nothing was written.
    pub fn write(
        &self,
        index: &ChannelIndex,
        keys: &[SecretKey],
        roots: Option<&RootOfTrust>,
    ) -> Result<PathBuf, ToolError> {
        let bytes = sign(index, keys, roots)?;
        let path = self.index(&index.channel)?;
        let channel = path.parent().unwrap_or(&self.folder);
        let mut present = Ok(None);
        // A web server reads it, so the umask determines the mode.
        let put = fs::create_dir_all(channel).and_then(|()| {
            whole::replace(&path, 0o666, |file| {
                file.write_all(&bytes)?;
                staged::remove_others(channel, &whole::staged(&path))?;
                present = self.last(&index.channel);
                match &present {
                    Ok(last) if last.as_ref().is_none_or(|last| last.sequence < index.sequence || last == index) => {
                        Ok(())
                    }
                    _ => Err(io::ErrorKind::NotFound.into()),
                }
            })
        });
        present?;
        put.map(|()| path.clone()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                ToolError::new(ErrorCode::Conflict, format!("{} was changed meanwhile", path.display()))
                    .hint("look at it (raspi-mcp channel show), and do this again if it still applies")
            }
            _ => failed(&path, &error),
        })
    }

    /// Stores a root of trust where devices look for it, by its version.
    ///
    /// # Errors
    /// As [`RootOfTrust::unverified`], and `conflict` when a different one of that version exists.
    pub fn put_root(&self, bytes: &[u8]) -> Result<PathBuf, ToolError> {
        let (roots, _) = RootOfTrust::unverified(bytes)?;
        let path = self.folder.join(ROOTS).join(format!("{}.signed", roots.version()));
        match read(&path) {
            Ok(there) if there == bytes => return Ok(path),
            Ok(there) if Signed::parse(&there, Purpose::Root)?.text != Signed::parse(bytes, Purpose::Root)?.text => {
                return Err(ToolError::new(
                    ErrorCode::Conflict,
                    format!("another root of trust is in {} already", path.display()),
                )
                .hint("a root of trust never changes: make the next version"));
            }
            _ => {}
        }
        self.put(&path, bytes)?;
        Ok(path)
    }

    /// Copies a bundle to `name`, and returns its address below the channel's base. An existing file of that name must
    /// hold the same bytes. `progress` hears how many of how many bytes are copied.
    ///
    /// # Errors
    /// `conflict` when it does not, `unavailable` when it cannot be copied.
    pub fn put_bundle(&self, from: &Path, name: &str, progress: &mut dyn FnMut(u64, u64)) -> Result<String, ToolError> {
        let path = self.folder.join(BUNDLES).join(name);
        let mut bundle = File::open(from).map_err(|error| failed(from, &error))?;
        match File::open(&path) {
            Ok(mut there) => {
                if !same(&mut bundle, &mut there).map_err(|error| failed(&path, &error))? {
                    return Err(ToolError::new(
                        ErrorCode::Conflict,
                        format!("{} is there already and is another bundle", path.display()),
                    )
                    .hint("a release never changes: build the next one with a higher version and counter"));
                }
            }
            Err(_) => {
                let size = bundle.metadata().map_err(|error| failed(from, &error))?.len();
                self.filled(&path, |file| {
                    steps::copy(&mut bundle, file, size, &mut |done| progress(done, size)).map(drop)
                })?;
            }
        }
        Ok(format!("{BUNDLES}/{name}"))
    }

    fn index(&self, channel: &str) -> Result<PathBuf, ToolError> {
        if !is_word(channel) || [ROOTS, BUNDLES].contains(&channel) {
            return Err(ToolError::invalid(format!("{channel:?} cannot be the name of a channel"))
                .hint("use a word of a-z, 0-9, \".\", \"_\" and \"-\", like stable"));
        }
        Ok(self.folder.join(channel).join(INDEX))
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        self.filled(path, |file| file.write_all(bytes))
    }

    fn filled(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), ToolError> {
        let folder = path.parent().unwrap_or(&self.folder);
        // A web server reads it, so the umask determines the mode.
        fs::create_dir_all(folder)
            .and_then(|()| whole::replace(path, 0o666, fill))
            .map_err(|error| failed(path, &error))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_SIGNED as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn same(one: &mut File, other: &mut File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut first, mut second) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let length = one.read(&mut first)?;
        if length == 0 {
            return Ok(true);
        }
        other.read_exact(&mut second[..length])?;
        if first[..length] != second[..length] {
            return Ok(false);
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("{}: {error}", path.display())).with("path", path.display().to_string())
}
