//! Writes a file: checks the conditions first, then changes it in one atomic step.

use super::{
    content::{etag, tag},
    mtime,
    place::{RootedPath, words},
    read::kind_words,
    size, whole,
};
use base::{
    clock,
    error::{ErrorCode, ToolError},
    os::{
        attributes,
        beneath::{Beneath, OpenedFile},
        blocking::StopSignal,
        replace::{Over, ReplacementFile, sync_folder, write_all},
    },
};
use rustix::{
    fs::{Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, fchmod, fstat, fsync, ftruncate, mkdirat},
    io::Errno,
};
use std::{ffi::OsStr, fs::File, path::Path};

/// Default permission bits of a new file, as for most programs.
const NEW_FILE: u32 = 0o644;
const NEW_FOLDER: u32 = 0o755;

/// What the caller allows.
pub struct How {
    /// The file may be created.
    pub create: bool,
    /// An existing file may be replaced.
    pub replace: bool,
    /// Appends to the existing content.
    pub append: bool,
    /// The existing file must have this tag.
    pub etag: Option<String>,
    /// Requested permission bits.
    pub bits: Option<u32>,
    pub mkdirs: bool,
    pub dry_run: bool,
}

/// A file that was written, or would be.
pub struct Put {
    pub size: u64,
    pub etag: String,
    pub mtime: String,
    pub mode: u32,
    pub appended: bool,
    pub before: Option<Before>,
    /// Folders that were created on the way, as absolute paths.
    pub folders: Vec<String>,
}

/// The previous file.
pub struct Before {
    pub size: u64,
    pub etag: String,
    pub mode: u32,
    pub owner_kept: bool,
    about: Stat,
    file: File,
}

/// Writes `bytes` to `place`.
///
/// # Errors
/// `conflict` if the existing file does not meet the caller's conditions; `failed_precondition` if it is not a regular
/// file; those of [`RootedPath::fault`]. Then nothing has changed, except that folders on the way may have been created.
pub fn put(place: &RootedPath, bytes: &[u8], how: &How, stop: &StopSignal) -> Result<Put, ToolError> {
    let mut changed = false;
    put_noting(place, bytes, how, stop, &mut changed)
        .map_err(|error| if changed { error.with("changed", true) } else { error })
}

/// As [`put`]; `changed` reports whether anything was changed, also after an error.
fn put_noting(
    place: &RootedPath,
    bytes: &[u8],
    how: &How,
    stop: &StopSignal,
    changed: &mut bool,
) -> Result<Put, ToolError> {
    whole::fits(place, bytes.len() as u64)?;
    let fault = |fault| place.fault(fault);
    let (Some(name), parent) = (place.relative.file_name(), place.relative.parent().unwrap_or(Path::new(""))) else {
        return Err(ToolError::invalid("the path names a folder").with("parameter", "path"));
    };
    let root = place.open()?;
    let (folder, folders) = folder(place, &root, parent, how, changed)?;
    let before = match &folder {
        Some(folder) => before(place, folder, name, how, stop)?,
        None => None,
    };
    if before.is_none() && !how.create {
        return Err(fault(Errno::NOENT).with("parameter", if how.etag.is_some() { "etag" } else { "create" }));
    }
    let appended = how.append && before.is_some();
    let mode = how.bits.or(before.as_ref().map(|before| before.mode)).unwrap_or(NEW_FILE);
    let mut put =
        Put { size: bytes.len() as u64, etag: String::new(), mtime: clock::now(), mode, appended, before, folders };
    let Some(folder) = folder else {
        put.etag = etag(bytes);
        return Ok(put);
    };
    if appended {
        append(place, (&folder, name), bytes, how, &mut put, stop, changed)?;
    } else {
        put.etag = etag(bytes);
        if !how.dry_run {
            replace(place, &folder, name, bytes, how, &mut put, stop)?;
            *changed = true;
        }
    }
    if !how.dry_run
        && let Some(about) = folder.look(name).map_err(fault)?
    {
        put.mtime = mtime(&about);
    }
    Ok(put)
}

/// The target folder, and those that were created (in a dry run: would be; there is then no folder yet).
fn folder(
    place: &RootedPath,
    root: &Beneath,
    parent: &Path,
    how: &How,
    changed: &mut bool,
) -> Result<(Option<Beneath>, Vec<String>), ToolError> {
    let fault = |fault| place.fault(fault);
    let mut made = Vec::new();
    match root.directory(parent) {
        Ok(folder) => return Ok((Some(folder), made)),
        Err(Errno::NOENT) if how.mkdirs => {}
        Err(Errno::NOENT) => {
            return Err(fault(Errno::NOENT).hint(if how.create {
                "its folder is not there; mkdirs: true makes it"
            } else {
                "files.list shows what there is"
            }));
        }
        Err(other) => return Err(fault(other)),
    }
    // One name after the other, each relative to the one before, so that no link can be inserted.
    let mut here = root.directory(Path::new("")).map_err(fault)?;
    let mut path = place.root.path.clone();
    let mut missing = false;
    for name in parent.iter() {
        path.push(name);
        if missing {
            made.push(path.display().to_string());
            continue;
        }
        here = match here.directory(Path::new(name)) {
            Ok(next) => next,
            Err(Errno::NOENT) if how.dry_run => {
                missing = true;
                made.push(path.display().to_string());
                continue;
            }
            Err(Errno::NOENT) => {
                match mkdirat(&here, name, Mode::from_raw_mode(NEW_FOLDER)) {
                    Ok(()) => {
                        *changed = true;
                        made.push(path.display().to_string());
                    }
                    // Created by another process meanwhile: equally good.
                    Err(Errno::EXIST) => {}
                    Err(other) => return Err(fault(other)),
                }
                let next = here.child(name).map_err(fault)?;
                if made.last().is_some_and(|last| Path::new(last) == path) {
                    widen(&next).map_err(fault)?;
                }
                sync_folder(&here).map_err(fault)?;
                next
            }
            Err(other) => return Err(fault(other)),
        };
    }
    Ok(((!missing).then_some(here), made))
}

/// Gives a new folder the bits that the umask removed. Inherited bits (setgid) stay.
fn widen(folder: &Beneath) -> Result<(), Errno> {
    let held = fstat(folder)?.st_mode & 0o7777;
    match fchmod(folder, Mode::from_raw_mode(held | NEW_FOLDER)) {
        // systemd's RestrictSUIDSGID= forbids setting even an inherited setgid bit.
        Err(Errno::PERM) if held & 0o7000 != 0 => Ok(()),
        ended => ended,
    }
}

/// The existing file, after checking that it may be written.
fn before(
    place: &RootedPath,
    folder: &Beneath,
    name: &OsStr,
    how: &How,
    stop: &StopSignal,
) -> Result<Option<Before>, ToolError> {
    let fault = |fault| place.fault(fault);
    let shown = place.shown();
    let Some(there) = folder.look(name).map_err(fault)? else { return Ok(None) };
    let kind = FileType::from_raw_mode(there.st_mode);
    if kind != FileType::RegularFile {
        let hint = if kind == FileType::Symlink {
            "write to the file that it points to"
        } else {
            "only regular files are read and written"
        };
        return Err(ToolError::precondition(format!("{shown} is {}, which is never written", kind_words(kind)))
            .with("parameter", "path")
            .hint(hint));
    }
    let (file, about) = match folder.regular_here(name).map_err(fault)? {
        (OpenedFile::File(file), about) => (file, about),
        (OpenedFile::Other(_), _) => return Err(changed_meanwhile(&shown)),
    };
    let whole = whole::read(place, &file, size(&about), 0, 0, stop)?;
    let size = whole.size;
    let etag = whole.etag();
    if how.etag.as_ref().is_some_and(|wanted| *wanted != etag) {
        return Err(conflict(&format!("{shown} is not what you have read"), &etag)
            .hint("read it again, and make your change to what it says now"));
    }
    if !how.replace && !how.append {
        return Err(conflict(&format!("{shown} is there already"), &etag)
            .hint("overwrite: true replaces it, its etag does so only while it is the same; or choose another name"));
    }
    accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(fault)?;
    // A change through one of its names would be one of the others, or part them without a word.
    if about.st_nlink > 1 {
        return Err(ToolError::precondition(format!("{shown} has other names (hard links), which may lie elsewhere"))
            .with("parameter", "path")
            .with("names", about.st_nlink)
            .hint("files.delete takes this name away and leaves the others; then write a file of its own"));
    }
    Ok(Some(Before { size, etag, mode: about.st_mode & 0o777, owner_kept: true, about, file }))
}

fn conflict(message: &str, etag: &str) -> ToolError {
    ToolError::new(ErrorCode::Conflict, message).with("parameter", "path").with("etag", etag)
}

fn not_kept(place: &RootedPath, why: Errno) -> ToolError {
    if matches!(why, Errno::NOSPC | Errno::DQUOT) {
        return place.fault(why);
    }
    let shown = place.shown();
    ToolError::precondition(format!(
        "the access control list or the attributes of {shown} cannot be kept ({}), so it stays as it is",
        words(why)
    ))
    .with("parameter", "path")
    .hint("getfacl and getfattr show them; a new name has none")
}

fn changed_meanwhile(shown: &str) -> ToolError {
    ToolError::new(ErrorCode::Conflict, format!("somebody else has changed {shown} in the meantime"))
        .with("parameter", "path")
        .hint("read it again, and make your change to what it says now")
}

/// Creates the file, or replaces the old one atomically.
fn replace(
    place: &RootedPath,
    folder: &Beneath,
    name: &OsStr,
    bytes: &[u8],
    how: &How,
    put: &mut Put,
    stop: &StopSignal,
) -> Result<(), ToolError> {
    let fault = |fault| place.fault(fault);
    let mut draft = ReplacementFile::new(folder).map_err(fault)?;
    draft.fill(bytes).map_err(fault)?;
    if let Some(before) = &mut put.before {
        let (user_kept, group_kept) = draft.set_owner(before.about.st_uid, before.about.st_gid).map_err(fault)?;
        before.owner_kept = user_kept && group_kept;
        let has_list = attributes::has_list(&before.file).map_err(fault)?;
        // The rights of the old group must not pass to another one. With a list these bits are not the group's.
        if how.bits.is_none() && !group_kept && !has_list {
            put.mode &= !0o070;
        }
        attributes::copy(&before.file, draft.file(), group_kept).map_err(|why| not_kept(place, why))?;
    }
    draft.set_mode(put.mode).map_err(fault)?;
    stop.check()?;
    let shown = place.shown();
    let mut same = |at: &OsStr| -> Result<bool, Errno> {
        let (OpenedFile::File(file), about) = folder.regular_here(at)? else { return Ok(false) };
        let tag = whole::read(place, &file, size(&about), 0, 0, &StopSignal::of("files")).map(whole::WholeFile::etag);
        Ok(tag.is_ok_and(|tag| how.etag.as_ref() == Some(&tag)))
    };
    let over = match (&put.before, &how.etag) {
        (None, _) if !how.replace => Over::Nothing,
        (Some(_), Some(_)) => Over::Only(&mut same),
        _ => Over::Anything,
    };
    draft.place(name, over).map_err(|ended| match ended {
        Errno::EXIST | Errno::STALE => changed_meanwhile(&shown),
        Errno::NOENT if put.before.is_some() => changed_meanwhile(&shown),
        other => fault(other),
    })
}

/// Appends to the existing file; a partial write is undone.
fn append(
    place: &RootedPath,
    (folder, name): (&Beneath, &OsStr),
    bytes: &[u8],
    how: &How,
    put: &mut Put,
    stop: &StopSignal,
    changed: &mut bool,
) -> Result<(), ToolError> {
    let fault = |fault| place.fault(fault);
    let shown = place.shown();
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(folder.open_plainly(Path::new(name), flags).map_err(fault)?);
    let about = fstat(&file).map_err(fault)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(changed_meanwhile(&shown));
    }
    if about.st_nlink > 1 {
        return Err(changed_meanwhile(&shown));
    }
    let mut whole = whole::read(place, &file, size(&about), 0, 0, stop)?;
    let held = whole.size;
    put.size = held + bytes.len() as u64;
    whole::fits(place, put.size)?;
    if let Some(wanted) = &how.etag
        && *wanted != tag(whole.hashed.clone().finish())
    {
        return Err(changed_meanwhile(&shown));
    }
    whole.hashed.update(bytes);
    put.etag = whole.etag();
    if how.dry_run {
        return Ok(());
    }
    stop.check()?;
    let file = file.into();
    if let Err(why) = write_all(&file, bytes).and_then(|()| fsync(&file)) {
        if let Err(again) = ftruncate(&file, held) {
            *changed = true;
            tracing::error!(path = shown, fault = %again, "half of what was to be appended could not be taken back");
        }
        return Err(fault(why));
    }
    *changed = true;
    if let Some(bits) = how.bits {
        fchmod(&file, Mode::from_raw_mode(bits)).map_err(fault)?;
    }
    Ok(())
}
