//! Files in the agent's folder: whole files replaced atomically, and bounded append-only logs.

use base::{
    error::{ErrorCode, ToolError},
    os::{lock::Lock, whole},
};
use serde::de::DeserializeOwned;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Creates `folder`, accessible to this user alone.
pub(super) fn make_folder(folder: &Path) -> Result<(), ToolError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed("make", folder, &error))
}

/// The content of a small file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, &error)),
    }
}

/// The state in a file of JSON; `None` when there is none. The release in the other slot may have written it: what this one cannot read is a
/// fault, which says what `follows` from it, and is set aside, since the next write replaces it.
///
/// # Errors
/// `unavailable` when the file cannot be read at all.
pub(super) fn read_state<T: DeserializeOwned>(
    path: &Path,
    follows: &str,
    faults: &mut Vec<String>,
) -> Result<Option<T>, ToolError> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    match serde_json::from_slice(&bytes) {
        Ok(state) => Ok(Some(state)),
        Err(error) => {
            faults.push(format!("{} is unreadable ({error}); {follows}", path.display()));
            if let Err(error) = set_aside(path, &bytes) {
                faults.push(error.into_message());
            }
            Ok(None)
        }
    }
}

/// Copies the content of `path`, which this release cannot read, to `<name>.unread`. The file itself stays until it is written anew.
///
/// # Errors
/// `unavailable` when that cannot be written.
pub(super) fn set_aside(path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".unread");
    let aside = PathBuf::from(aside);
    if read(&aside)?.as_deref() == Some(bytes) { Ok(()) } else { replace(&aside, bytes) }
}

/// Replaces `path` atomically: a power cut leaves the old or the new content. Returns when it is on the card.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), ToolError> {
    whole::replace(path, 0o600, |file| file.write_all(content)).map_err(|error| failed("write", path, &error))
}

/// An append-only file of lines. At its size limit it is rotated to `<name>.1`, replacing the previous one.
pub(super) struct RotatedFile {
    path: PathBuf,
    max_bytes: u64,
    open: Mutex<Option<(File, u64)>>,
}

impl RotatedFile {
    pub(super) fn new(path: PathBuf, max_bytes: u64) -> Self {
        Self { path, max_bytes, open: Mutex::new(None) }
    }

    /// The rotated file, with the older lines.
    pub(super) fn rotated(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        PathBuf::from(name)
    }

    /// Appends `line`; if `durable`, it is on the card when this returns. Returns whether the file was rotated.
    pub(super) fn append(&self, line: &str, durable: bool) -> Result<bool, ToolError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.append_to(&mut open, line, durable);
        if result.is_err() {
            // Reopened next time: the folder may be back.
            *open = None;
        }
        result.map_err(|error| failed("append to", &self.path, &error))
    }

    fn append_to(&self, open: &mut Option<(File, u64)>, line: &str, durable: bool) -> io::Result<bool> {
        let full = open.as_ref().is_some_and(|(_, size)| *size >= self.max_bytes);
        if full {
            *open = None;
            fs::rename(&self.path, self.rotated())?;
        }
        if open.is_none() {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
            let size = file.metadata()?.len();
            // A power cut may have left half a line; the next line must not be appended to it.
            if size > 0 && last_byte(&self.path, size)? != b'\n' {
                (&file).write_all(b"\n")?;
            }
            *open = Some((file, size));
        }
        if let Some((file, size)) = open {
            // One write, so that only the last line can be incomplete after a power cut.
            let whole = format!("{line}\n");
            file.write_all(whole.as_bytes())?;
            *size += whole.len() as u64;
            if durable {
                file.sync_data()?;
            }
        }
        Ok(full)
    }

    /// Replaces all lines atomically: a power cut leaves the old or the new ones. Returns when they are on the card.
    pub(super) fn replace(&self, content: &str) -> Result<(), ToolError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        *open = None;
        replace(&self.path, content.as_bytes())?;
        match fs::remove_file(self.rotated()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &self.rotated(), &error)),
            _ => Ok(()),
        }
    }

    /// All lines, oldest first.
    pub(super) fn read(&self) -> Result<Vec<String>, ToolError> {
        let mut lines = Vec::new();
        for path in [&self.rotated(), &self.path] {
            let Some(bytes) = read(path)? else { continue };
            lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
        }
        Ok(lines)
    }
}

fn last_byte(path: &Path, size: u64) -> io::Result<u8> {
    let mut byte = [0];
    File::open(path)?.read_exact_at(&mut byte, size - 1)?;
    Ok(byte[0])
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("the agent cannot {verb} {}: {error}", path.display()))
        .with("path", path.display().to_string())
        .hint("check the space on and the permissions of the agent's state directory")
}

/// Locks the folder for this process. The kernel releases the lock when the process ends, however it ends.
pub(super) fn lock(folder: &Path) -> Result<Lock, ToolError> {
    let path = folder.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| failed("open", &path, &error))?;
    Lock::take(file).map_err(|error| failed("lock", &path, &error))?.ok_or_else(|| {
        ToolError::new(ErrorCode::Conflict, format!("another agent uses {}", folder.display()))
            .with("path", folder.display().to_string())
            .hint("stop it first: systemctl stop raspi-mcp-agent")
    })
}
