//! The files of a program, hashed. Their stamps tell whether they have to be read again: nobody but root can change the
//! time of a file's last change (`st_ctime`).

use base::{canonical, error::ToolError};
use ring::digest::{Context, SHA256};
use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// Maximum number of files, and bytes of all of them.
const FILES: usize = 20_000;
const BYTES: u64 = 1 << 30;

/// The files of a program at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramFiles {
    /// Hash of paths and metadata.
    stamp: String,
    /// Hash of paths and contents.
    pub(crate) hash: String,
}

impl ProgramFiles {
    /// Looks at `paths`, and at everything in those that are folders. `known`: what was there before.
    ///
    /// # Errors
    /// `permission_denied` for one that others than root may change, `not_found`, `content_too_large`.
    pub(crate) fn of(paths: &[PathBuf], known: Option<&Self>) -> Result<Self, ToolError> {
        let mut found = Vec::new();
        for path in paths {
            walk(path, &mut found)?;
        }
        let mut stamp = Context::new(&SHA256);
        for (path, about) in &found {
            put(&mut stamp, path.as_os_str().as_bytes());
            for number in [
                about.dev(),
                about.ino(),
                about.size(),
                about.ctime().unsigned_abs(),
                about.ctime_nsec().unsigned_abs(),
            ] {
                stamp.update(&number.to_le_bytes());
            }
        }
        let stamp = canonical::hex(stamp.finish().as_ref());
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return Ok(known.clone());
        }
        let all: u64 = found.iter().map(|(_, about)| about.size()).sum();
        if all > BYTES {
            return Err(too_many());
        }
        let mut hash = Context::new(&SHA256);
        for (path, about) in &found {
            put(&mut hash, path.as_os_str().as_bytes());
            hash.update(&about.mode().to_le_bytes());
            content(path, about, &mut hash).map_err(|error| unreadable(path, &error))?;
        }
        Ok(Self { stamp, hash: canonical::hex(hash.finish().as_ref()) })
    }
}

/// With its length, so that no two lists of parts have the same bytes.
fn put(hash: &mut Context, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn walk(path: &Path, found: &mut Vec<(PathBuf, Metadata)>) -> Result<(), ToolError> {
    let about = fs::symlink_metadata(path).map_err(|error| unreadable(path, &error))?;
    let ours = about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw();
    if !ours || !about.is_symlink() && about.mode() & 0o022 != 0 {
        return Err(ToolError::denied(format!("{} could be changed by others than root", path.display()))
            .with("resource", path.display().to_string())
            .hint("chown root and chmod go-w it"));
    }
    let is_folder = about.is_dir();
    found.push((path.to_owned(), about));
    if found.len() > FILES {
        return Err(too_many());
    }
    if is_folder {
        let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut entries: Vec<PathBuf> = entries.map_err(|error: io::Error| unreadable(path, &error))?;
        base::sort::sort(&mut entries);
        for entry in entries {
            walk(&entry, found)?;
        }
    }
    Ok(())
}

fn content(path: &Path, about: &Metadata, hash: &mut Context) -> io::Result<()> {
    if about.is_symlink() {
        put(hash, fs::read_link(path)?.as_os_str().as_bytes());
    } else if about.is_file() {
        let (mut file, mut buffer) = (File::open(path)?, vec![0; 64 * 1024]);
        hash.update(&about.size().to_le_bytes());
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                length => hash.update(&buffer[..length]),
            }
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &io::Error) -> ToolError {
    ToolError::not_found(format!("{} cannot be looked at: {error}", path.display()))
        .with("resource", path.display().to_string())
}

fn too_many() -> ToolError {
    ToolError::precondition(format!("the files of this agent are more than {FILES}, or larger than 1 GiB"))
        .hint("name fewer in files of the agent")
}
