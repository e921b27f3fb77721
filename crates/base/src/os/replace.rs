//! Atomic creation and replacement of a file: written separately, synced, then put in place in one step.
//!
//! It has no name while it is written (`O_TMPFILE`, open(2)), so that a crash leaves nothing of it; a file system
//! without that gets a hidden name. After a full disk or a crash the old file remains.

use super::beneath::{Beneath, descriptor};
use rustix::{
    fd::OwnedFd,
    fs::{
        AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fstat, fsync, linkat, openat, renameat,
        renameat_with, unlinkat,
    },
    io::{Errno, write},
};
use std::{ffi::OsStr, fmt::Write};

/// What the new file may replace.
pub enum Over<'a> {
    /// Nothing: `EEXIST` otherwise.
    Nothing,
    /// Anything.
    Anything,
    /// Only a file that this accepts, examined under the given name when nothing can replace it any more: `ESTALE`
    /// otherwise.
    Only(&'a mut dyn FnMut(&OsStr) -> Result<bool, Errno>),
}

/// A file that is not in place yet. Dropping it removes it.
pub struct ReplacementFile<'a> {
    folder: &'a Beneath,
    file: OwnedFd,
    /// Its hidden name, if it has one.
    name: Option<String>,
}

impl<'a> ReplacementFile<'a> {
    /// An empty file in `folder`, readable only by its owner.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn new(folder: &'a Beneath) -> Result<Self, Errno> {
        let mode = Mode::RUSR | Mode::WUSR;
        match openat(folder, ".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode) {
            Ok(file) => Ok(Self { folder, file, name: None }),
            // The errors of file systems and kernels without support for it.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let name = hidden()?;
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(folder, name.as_str(), flags, mode)?;
                Ok(Self { folder, file, name: Some(name) })
            }
            Err(fault) => Err(fault),
        }
    }

    /// # Errors
    /// Those of write(2): `ENOSPC`, `EDQUOT`.
    pub fn fill(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        write_all(&self.file, bytes)
    }

    /// # Errors
    /// Those of fchmod(2).
    pub fn set_mode(&self, mode: u32) -> Result<(), Errno> {
        fchmod(&self.file, Mode::from_raw_mode(mode & 0o777))
    }

    /// Sets user and group, where they differ and this process may. Returns whether each of the two is right then.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn set_owner(&self, uid: u32, gid: u32) -> Result<(bool, bool), Errno> {
        let is = fstat(&self.file)?;
        // Only called when needed: the unit's sandbox allows no fchown(2) at all.
        let group = is.st_gid == gid || fchown(&self.file, None, Some(Gid::from_raw(gid))).is_ok();
        let user = is.st_uid == uid || fchown(&self.file, Some(Uid::from_raw(uid)), None).is_ok();
        Ok((user, group))
    }

    /// The file itself.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Moves it to `name` in its folder, and syncs both to the disk.
    ///
    /// # Errors
    /// Those of fsync(2), linkat(2) and rename(2); see [`Over`].
    pub fn place(mut self, name: &OsStr, over: Over<'_>) -> Result<(), Errno> {
        fsync(&self.file)?;
        match over {
            Over::Nothing => self.create(name)?,
            Over::Anything => {
                let temporary = self.named()?;
                renameat(self.folder, temporary.as_str(), self.folder, name)?;
                self.name = None;
            }
            Over::Only(accepts) => self.exchange(name, accepts)?,
        }
        sync_folder(self.folder)
    }

    fn create(&mut self, name: &OsStr) -> Result<(), Errno> {
        let Some(temporary) = self.name.clone() else {
            return linkat(CWD, descriptor(&self.file), self.folder, name, AtFlags::SYMLINK_FOLLOW);
        };
        renameat_with(self.folder, temporary.as_str(), self.folder, name, RenameFlags::NOREPLACE)?;
        self.name = None;
        Ok(())
    }

    /// Swaps the two names and examines the old file; if it is not accepted, swaps them back.
    fn exchange(&mut self, name: &OsStr, accepts: &mut dyn FnMut(&OsStr) -> Result<bool, Errno>) -> Result<(), Errno> {
        let temporary = self.named()?;
        let aside = OsStr::new(&temporary);
        let swap = || renameat_with(self.folder, aside, self.folder, name, RenameFlags::EXCHANGE);
        match swap() {
            Ok(()) => {}
            // The file system cannot swap: the old file is examined, then replaced, which is not atomic.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                if !accepts(name)? {
                    return Err(Errno::STALE);
                }
                renameat(self.folder, aside, self.folder, name)?;
                self.name = None;
                return Ok(());
            }
            Err(fault) => return Err(fault),
        }
        let right = accepts(aside);
        if matches!(right, Ok(true)) {
            // The old file, under the temporary name, is removed when this is dropped.
            return Ok(());
        }
        swap()?;
        // Another process has replaced it meanwhile: the newer file stays, and the older one is removed.
        if !self.is_mine(aside)? {
            swap()?;
        }
        Err(right.err().unwrap_or(Errno::STALE))
    }

    fn is_mine(&self, name: &OsStr) -> Result<bool, Errno> {
        let (mine, there) = (fstat(&self.file)?, self.folder.look(name)?);
        Ok(there.is_some_and(|there| (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)))
    }

    /// Its temporary name, created if it has none.
    fn named(&mut self) -> Result<String, Errno> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let name = hidden()?;
        linkat(CWD, descriptor(&self.file), self.folder, name.as_str(), AtFlags::SYMLINK_FOLLOW)?;
        self.name = Some(name.clone());
        Ok(name)
    }
}

impl Drop for ReplacementFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && let Err(fault) = unlinkat(self.folder, name.as_str(), AtFlags::empty())
        {
            tracing::warn!(%fault, name, "a temporary file could not be removed");
        }
    }
}

/// Writes all of `bytes`.
///
/// # Errors
/// Those of write(2).
pub fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// Syncs a folder's entries to the disk.
///
/// # Errors
/// Those of fsync(2), except on file systems that do not support it for folders.
pub fn sync_folder(folder: &Beneath) -> Result<(), Errno> {
    match fsync(folder) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        ended => ended,
    }
}

/// Prefix of temporary names.
pub const HIDDEN: &str = ".raspi-mcp-";

/// A random name that `ls` does not show.
///
/// # Errors
/// `EIO` when the kernel gives no random numbers.
pub fn hidden() -> Result<String, Errno> {
    let mut random = [0u8; 8];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random).map_err(|_| Errno::IO)?;
    let mut name = String::from(HIDDEN);
    for byte in random {
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}
