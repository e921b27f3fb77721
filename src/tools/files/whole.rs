//! Reads a whole file once: for its tag and the requested part.

use super::{content::tag, place::RootedPath};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking::StopSignal,
};
use ring::digest::{Context, SHA256};
use rustix::io::Errno;
use std::{
    fs::File,
    io::{ErrorKind, Read},
};

/// Bytes read at a time.
const CHUNK: u64 = 64 * 1024;

/// The result of reading a file.
pub struct WholeFile {
    /// Size in bytes.
    pub size: u64,
    pub hashed: Context,
    /// The requested part.
    pub part: Vec<u8>,
}

impl WholeFile {
    pub fn etag(self) -> String {
        tag(self.hashed.finish())
    }
}

/// Reads bytes `from..to` of `file` and hashes all of it. `expected` is its reported size.
///
/// # Errors
/// `content_too_large` if it exceeds the limit of its root.
pub fn read(
    place: &RootedPath,
    mut file: &File,
    expected: u64,
    from: u64,
    to: u64,
    stop: &StopSignal,
) -> Result<WholeFile, ToolError> {
    let most = place.root.max_bytes;
    fits(place, expected)?;
    // One byte more than a small file has: a short read then shows its end without another call.
    let mut buffer = vec![0u8; usize::try_from((expected + 1).clamp(4096, CHUNK)).unwrap_or(4096)];
    let mut whole = WholeFile { size: 0, hashed: Context::new(&SHA256), part: Vec::new() };
    loop {
        let got = match file.read(&mut buffer) {
            Ok(got) => got,
            Err(fault) if fault.kind() == ErrorKind::Interrupted => continue,
            Err(fault) => return Err(place.fault(Errno::from_io_error(&fault).unwrap_or(Errno::IO))),
        };
        let bytes = &buffer[..got];
        whole.hashed.update(bytes);
        let (start, end) = (whole.size, whole.size + got as u64);
        let within = |at: u64| usize::try_from(at.clamp(start, end) - start).unwrap_or(got);
        whole.part.extend_from_slice(&bytes[within(from)..within(to.max(from))]);
        whole.size = end;
        if end > most {
            return Err(too_large(place, end));
        }
        if got < buffer.len() {
            return Ok(whole);
        }
        stop.check()?;
    }
}

/// # Errors
/// `content_too_large` if this size exceeds the limit of the root.
pub fn fits(place: &RootedPath, size: u64) -> Result<(), ToolError> {
    if size > place.root.max_bytes { Err(too_large(place, size)) } else { Ok(()) }
}

fn too_large(place: &RootedPath, size: u64) -> ToolError {
    let (root, most) = (&place.root.name, place.root.max_bytes);
    ToolError::new(
        ErrorCode::ContentTooLarge,
        format!("{} has {size} bytes; the root {root} takes files of at most {most}", place.shown()),
    )
    .with("parameter", "path")
    .with("size", size)
    .with("limit_bytes", most)
    .hint("max_bytes of the root in [[files.roots]] is the limit")
}
