//! Reading and writing files for these commands: keys, heads, times.

use crate::cli::exit::{Exit, Failure};
use base::error::ToolError;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use update::{
    bundle::{BundleError, BundleHead, Envelope, MAX_HEAD},
    trust::{MAX_SIGNED, RootOfTrust},
};

#[cfg(feature = "console")]
pub(in crate::cli) use super::publishing::{created, mebibytes, public_key, replace, secret_key, warn_of_future};

impl From<BundleError> for Failure {
    fn from(fault: BundleError) -> Self {
        ToolError::from(fault).into()
    }
}

pub(in crate::cli) fn failed(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failed, format!("{}: {what}", path.display()))
}

/// An error about a file, prefixed with its name.
pub(in crate::cli) fn refused(path: &Path, fault: BundleError) -> Failure {
    let failure = Failure::from(fault);
    Failure::new(failure.exit, format!("{}: {}", path.display(), failure.message))
}

pub(in crate::cli) fn usage(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, message)
}

pub(in crate::cli) fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| failed(path, error))
}

/// Reads a whole file of at most `limit` bytes.
pub(in crate::cli) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(path)?.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    if bytes.len() as u64 > limit {
        return Err(failed(path, format!("longer than {limit} bytes, so it is something else")));
    }
    Ok(bytes)
}

/// Creates a new file; fails if it exists.
pub(in crate::cli) fn create(path: &Path, mode: u32) -> Result<File, Failure> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path).map_err(|error| {
        match error.kind() {
            io::ErrorKind::AlreadyExists => failed(path, "is there already; take another name, or move it away"),
            _ => failed(path, error),
        }
    })
}

/// Creates a new file with these contents, and syncs it.
pub(in crate::cli) fn create_with(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = create(path, mode)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| {
        // Remove a partial file: otherwise the next attempt would fail because it exists.
        let _ = std::fs::remove_file(path);
        failed(path, error)
    })
}

/// Reads the head of an open bundle.
pub(in crate::cli) fn head(path: &Path, file: &mut File) -> Result<Envelope, Failure> {
    let mut bytes = Vec::new();
    (&mut *file).take(MAX_HEAD as u64).read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    match Envelope::read(&bytes).map_err(|fault| refused(path, fault))? {
        BundleHead::Whole(envelope) => Ok(envelope),
        BundleHead::More(wanted) => {
            Err(failed(path, format!("ends after {} of its head's {wanted} bytes", bytes.len())))
        }
    }
}

/// Reads the bytes of its index.
pub(in crate::cli) fn index(path: &Path, file: &mut File, envelope: &Envelope) -> Result<Vec<u8>, Failure> {
    // Envelope::read limits it to MAX_INDEX.
    let mut bytes = vec![0; envelope.index_size() as usize];
    let read = file.seek(SeekFrom::Start(envelope.index_at)).and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|error| failed(path, format!("its index: {error}")))?;
    Ok(bytes)
}

/// The last of a chain of roots: the first is trusted, each of the others must follow from the one before.
pub(in crate::cli) fn chain(paths: &[PathBuf]) -> Result<RootOfTrust, Failure> {
    let mut held: Option<RootOfTrust> = None;
    for path in paths {
        let bytes = read(path, MAX_SIGNED as u64)?;
        let next = held.map_or_else(|| RootOfTrust::parse(&bytes), |held| held.accept(&bytes));
        held = Some(next.map_err(|fault| refused(path, fault))?);
    }
    held.ok_or_else(|| usage("no root of trust was named"))
}

/// clap's parser of times: seconds since 1970, or RFC 3339.
pub(in crate::cli) fn time(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let wrong = || "write it like 2027-01-01T00:00:00Z, or as seconds since 1970".to_owned();
    let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?;
    u64::try_from(time.unix_timestamp()).map_err(|_| wrong())
}

/// A time for people.
pub(in crate::cli) fn shown(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{seconds} s after 1970"))
}

/// This machine's clock, in seconds since 1970.
pub(in crate::cli) fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}
