//! Free space of a file system.

use std::{io, path::Path};

/// Bytes that this user can still write below `path` (statvfs(3)).
///
/// # Errors
/// Those of statvfs.
pub fn free(path: &Path) -> io::Result<u64> {
    let numbers = rustix::fs::statvfs(path)?;
    Ok(numbers.f_bavail.saturating_mul(numbers.f_frsize))
}
