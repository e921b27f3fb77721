//! A small procfs file that is read repeatedly: kept open, and read from its start into the caller's buffer.
//!
//! Opening costs more than reading, so frequent calls, such as for the uptime, avoid it.

use super::{Root, root::named};
use std::{fs::File, io, os::unix::fs::FileExt};

/// An open file whose content changes.
#[derive(Debug)]
pub struct LiveFile {
    file: File,
}

impl LiveFile {
    /// # Errors
    /// Those of opening the file.
    pub fn open(root: &Root, relative: &str) -> io::Result<Self> {
        File::open(root.path(relative)).map(|file| Self { file }).map_err(|fault| named(relative, &fault))
    }

    /// The current content, up to the length of `buffer`.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` for invalid UTF-8.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a str> {
        let length = self.file.read_at(buffer, 0)?;
        std::str::from_utf8(&buffer[..length]).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
    }
}
