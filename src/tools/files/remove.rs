//! Removes files: everything is checked first, then removed name by name, each relative to an open folder.

use super::{place::RootedPath, read::kind_words, size, whole};
use base::{
    error::{ErrorCode, ToolError},
    os::{
        beneath::{Beneath, OpenedFile, named},
        blocking::StopSignal,
        replace::{hidden, sync_folder},
        walk::{DEEPEST, WalkStep, walk},
    },
};
use rustix::{
    fs::{Access, AtFlags, Dir, FileType, RenameFlags, Stat, accessat, renameat_with, unlinkat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// Most entries that one call removes; checking as many takes a card a few seconds.
const MOST: u64 = 100_000;
/// How often a folder is emptied again while others add entries.
const PASSES: usize = 3;

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gone {
    /// Everything except folders.
    pub files: u64,
    pub directories: u64,
    /// Size of the regular files.
    pub bytes: u64,
}

/// The state before removal.
pub struct Removed {
    pub kind: FileType,
    pub gone: Gone,
    /// For a file whose tag was given.
    pub etag: Option<String>,
}

/// Removes what is at `place`.
///
/// # Errors
/// `failed_precondition` for a folder without `recursive`; `conflict` if the tag differs; those of [`RootedPath::fault`].
pub fn remove(
    place: &RootedPath,
    recursive: bool,
    etag: Option<&str>,
    dry_run: bool,
    stop: &StopSignal,
) -> Result<Removed, ToolError> {
    let fault = |fault| place.fault(fault);
    let (Some(name), parent) = (place.relative.file_name(), place.relative.parent().unwrap_or(Path::new(""))) else {
        return Err(ToolError::invalid("a root itself is never deleted").with("parameter", "path"));
    };
    let folder = place.open()?.directory(parent).map_err(fault)?;
    let about = folder.look(name).map_err(fault)?.ok_or_else(|| fault(Errno::NOENT))?;
    let kind = FileType::from_raw_mode(about.st_mode);
    if etag.is_some() && kind != FileType::RegularFile {
        return Err(ToolError::precondition(format!("{} is {} and has no etag", place.shown(), kind_words(kind)))
            .with("parameter", "etag"));
    }
    let removable = accessat(&folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
    if kind == FileType::Directory {
        if !recursive {
            return Err(ToolError::precondition(format!("{} is a directory", place.shown()))
                .with("parameter", "recursive")
                .hint("recursive: true deletes it with all that is in it; dry_run: true says first what that is"));
        }
        let child = folder.child(name).map_err(fault)?;
        let mut gone = counted(place, &child, stop)?;
        gone.directories += 1;
        removable.map_err(fault)?;
        if !dry_run {
            stop.check()?;
            gone = Gone::default();
            emptied(place, &child, &mut gone, 1, stop)
                .and_then(|()| folder_gone(place, &folder, name, &mut gone, 1))
                .map_err(|error| {
                error
                    .with("deleted_files", gone.files)
                    .with("deleted_directories", gone.directories)
                    .with("changed", gone.files + gone.directories > 0)
            })?;
            sync_folder(&folder).map_err(|error| fault(error).with("changed", true))?;
        }
        return Ok(Removed { kind, gone, etag: None });
    }
    let gone = Gone { files: 1, directories: 0, bytes: bytes(&about) };
    if let Some(wanted) = etag {
        is_same(place, &folder, name, wanted)?;
    }
    removable.map_err(fault)?;
    if !dry_run {
        stop.check()?;
        match etag {
            Some(wanted) => unlink_same(place, &folder, name, wanted)?,
            None => unlinkat(&folder, name, AtFlags::empty()).map_err(fault)?,
        }
        sync_folder(&folder).map_err(|error| fault(error).with("changed", true))?;
    }
    Ok(Removed { kind, gone, etag: etag.map(str::to_owned) })
}

fn bytes(about: &Stat) -> u64 {
    if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile { size(about) } else { 0 }
}

/// # Errors
/// `conflict` if the file has another tag.
fn is_same(place: &RootedPath, folder: &Beneath, name: &OsStr, wanted: &str) -> Result<(), ToolError> {
    let shown = place.shown();
    let conflict = |etag: Option<String>| {
        let error = ToolError::new(ErrorCode::Conflict, format!("{shown} is not what you have read"))
            .with("parameter", "etag")
            .hint("read it again before you delete it");
        etag.map_or_else(|| error.clone(), |etag| error.clone().with("etag", etag))
    };
    let (OpenedFile::File(file), about) = folder.regular_here(name).map_err(|fault| place.fault(fault))? else {
        return Err(conflict(None));
    };
    let etag = whole::read(place, &file, size(&about), 0, 0, &StopSignal::of("files"))?.etag();
    if etag == wanted { Ok(()) } else { Err(conflict(Some(etag))) }
}

/// Renames the file to a hidden name, where nobody can replace it, checks its tag again, and removes it.
fn unlink_same(place: &RootedPath, folder: &Beneath, name: &OsStr, wanted: &str) -> Result<(), ToolError> {
    let fault = |fault| place.fault(fault);
    let aside = OsString::from(hidden().map_err(fault)?);
    renameat_with(folder, name, folder, &aside, RenameFlags::NOREPLACE).map_err(fault)?;
    if let Err(error) = is_same(place, folder, &aside, wanted) {
        return Err(match renameat_with(folder, &aside, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => error,
            // Another file was created there meanwhile. Neither may be removed.
            Err(_) => error.with("kept_as", aside.to_string_lossy().into_owned()).with("changed", true),
        });
    }
    unlinkat(folder, &aside, AtFlags::empty()).map_err(fault)
}

/// Counts the contents of a folder, after checking that all of it can be reached.
fn counted(place: &RootedPath, folder: &Beneath, stop: &StopSignal) -> Result<Gone, ToolError> {
    let (mut gone, shown) = (Gone::default(), place.shown());
    let mut visit = |step: WalkStep<'_>| {
        let (folder, name, kind) = match step {
            WalkStep::Closed { path, fault } => {
                let path = String::from_utf8_lossy(path);
                let error = match fault {
                    Errno::XDEV => ToolError::precondition(format!("something is mounted at {shown}/{path}"))
                        .hint("unmount it first: what is mounted is not in this root"),
                    Errno::LOOP => ToolError::precondition(format!("{shown}/{path} is {DEEPEST} levels down"))
                        .hint("delete what is below first"),
                    other => place.fault(other),
                };
                return Err(error.with("resource", format!("{shown}/{path}")));
            }
            WalkStep::Entry { folder, name, kind, .. } => (folder, name, kind),
        };
        if kind == FileType::Directory {
            gone.directories += 1;
        } else {
            gone.files += 1;
            gone.bytes += folder.look(name).ok().flatten().as_ref().map_or(0, bytes);
        }
        if gone.files + gone.directories > MOST {
            return Err(ToolError::exhausted(format!("{shown} holds more than {MOST} files and folders"))
                .with("limit", MOST)
                .hint("delete the folders in it one by one"));
        }
        if gone.files.is_multiple_of(1024) {
            stop.check()?;
        }
        Ok(kind == FileType::Directory)
    };
    walk(folder, &mut Vec::new(), stop, &mut visit)?;
    Ok(gone)
}

/// Empties a folder. Links are removed and never followed: each folder is opened by name from its parent.
fn emptied(
    place: &RootedPath,
    folder: &Beneath,
    gone: &mut Gone,
    depth: usize,
    stop: &StopSignal,
) -> Result<(), ToolError> {
    let fault = |fault| place.fault(fault);
    // It was checked before, so others are moving folders into it.
    if depth > DEEPEST {
        return Err(fault(Errno::BUSY));
    }
    for entry in Dir::read_from(folder).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let Some(name) = named(entry.file_name().to_bytes()) else { continue };
        stop.check()?;
        let Some(about) = folder.look(name).map_err(fault)? else { continue };
        if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
            let child = match folder.child(name) {
                Ok(child) => child,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(other) => return Err(fault(other)),
            };
            emptied(place, &child, gone, depth + 1, stop)?;
            folder_gone(place, folder, name, gone, depth + 1)?;
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) => {
                gone.files += 1;
                gone.bytes += bytes(&about);
            }
            // Removed by others, or replaced by a folder: the next pass handles it.
            Err(Errno::NOENT | Errno::ISDIR) => {}
            Err(other) => return Err(fault(other)),
        }
    }
    Ok(())
}

/// Removes an emptied folder; entries added meanwhile are removed too, for a few passes.
fn folder_gone(
    place: &RootedPath,
    folder: &Beneath,
    name: &OsStr,
    gone: &mut Gone,
    depth: usize,
) -> Result<(), ToolError> {
    for _ in 0..PASSES {
        match unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) => {
                gone.directories += 1;
                return Ok(());
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                let child = folder.child(name).map_err(|fault| place.fault(fault))?;
                emptied(place, &child, gone, depth, &StopSignal::of("files"))?;
            }
            // Already gone, or replaced by a link or file, which was not requested.
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            Err(other) => return Err(place.fault(other)),
        }
    }
    let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
    Err(ToolError::new(ErrorCode::Conflict, format!("somebody keeps filling {name}"))
        .with("resource", name)
        .hint("find out who writes there, and delete again"))
}
