//! Walks a folder tree, with one open folder per level and without collecting names.

use super::{
    beneath::{Beneath, named},
    blocking::StopSignal,
};
use crate::error::ToolError;
use rustix::{
    fs::{Dir, FileType},
    io::Errno,
};
use std::ffi::OsStr;

/// Deepest level that is entered. Each holds two descriptors, and ten calls may walk concurrently.
pub const DEEPEST: usize = 32;

/// One step of a walk.
pub enum WalkStep<'a> {
    Entry {
        folder: &'a Beneath,
        name: &'a OsStr,
        /// Relative to the start of the walk, with `/` between names.
        path: &'a [u8],
        kind: FileType,
    },
    /// A folder that cannot be entered: `EXDEV` for a mount, `ELOOP` below [`DEEPEST`].
    Closed { path: &'a [u8], fault: Errno },
}

/// Called for each step; returns whether to enter the folder.
pub type Visit<'a> = dyn FnMut(WalkStep<'_>) -> Result<bool, ToolError> + 'a;

/// Walks `folder`, which is at `path` relative to the start.
///
/// # Errors
/// Those of `visit`; `cancelled` if the call was cancelled.
pub fn walk(folder: &Beneath, path: &mut Vec<u8>, stop: &StopSignal, visit: &mut Visit<'_>) -> Result<(), ToolError> {
    level(folder, path, 1, stop, visit)
}

fn level(
    folder: &Beneath,
    path: &mut Vec<u8>,
    depth: usize,
    stop: &StopSignal,
    visit: &mut Visit<'_>,
) -> Result<(), ToolError> {
    stop.check()?;
    let mut names = match Dir::read_from(folder) {
        Ok(names) => names,
        Err(fault) => return visit(WalkStep::Closed { path, fault }).map(drop),
    };
    let length = path.len();
    while let Some(entry) = names.read() {
        path.truncate(length);
        let entry = match entry {
            Ok(entry) => entry,
            Err(fault) => return visit(WalkStep::Closed { path, fault }).map(drop),
        };
        let Some(name) = named(entry.file_name().to_bytes()) else { continue };
        let kind = match entry.file_type() {
            // Some file systems do not report the type here, only when asked for the entry.
            FileType::Unknown => match folder.look(name) {
                Ok(Some(about)) => FileType::from_raw_mode(about.st_mode),
                _ => continue,
            },
            kind => kind,
        };
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(entry.file_name().to_bytes());
        if !visit(WalkStep::Entry { folder, name, path, kind })? {
            continue;
        }
        match if depth < DEEPEST { folder.child(name) } else { Err(Errno::LOOP) } {
            Ok(next) => level(&next, path, depth + 1, stop, visit)?,
            // Removed or replaced meanwhile: nothing to enter.
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(fault) => {
                visit(WalkStep::Closed { path, fault })?;
            }
        }
    }
    path.truncate(length);
    Ok(())
}
