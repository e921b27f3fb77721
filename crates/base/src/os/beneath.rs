//! File access restricted to a folder: the kernel resolves each path, and refuses to leave the folder (openat2(2),
//! Linux 5.6).
//!
//! A user who can write below a folder can put a symbolic link there, or replace a directory between two system calls.
//! So paths are never checked first and used later: `RESOLVE_BENEATH` does both in one step, and everything after that
//! is relative to the resulting descriptors.

use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat, openat2, statat},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::File,
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::Path,
};

/// Leaving the folder, by `..`, by a link or by a mount, is `EXDEV`; what procfs calls links is refused as `ELOOP`.
const INSIDE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_XDEV);
/// The kernel returns `EAGAIN` when something is renamed while it resolves `..` in a link: retry.
const ATTEMPTS: usize = 16;

/// Opens a directory by an absolute path, and follows a symbolic link in no part of it. One component after the other, not by
/// openat2(2): systemd takes that away from units with `RestrictSUIDSGID=`, as the agent and the commands it runs.
///
/// # Errors
/// Those of openat(2); `ELOOP` for a link.
pub fn directory_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = open("/", flags, Mode::empty())?;
    for name in path.iter().skip(1) {
        let next = openat(&folder, name, flags, Mode::empty());
        folder = next.map_err(|errno| match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) if FileType::from_raw_mode(about.st_mode) == FileType::Symlink => Errno::LOOP,
            _ => errno,
        })?;
    }
    Ok(folder)
}

/// An opened folder, the root of all accesses.
#[derive(Debug)]
pub struct Beneath {
    folder: OwnedFd,
}

impl Beneath {
    /// Opens the folder at `path`, an absolute path without symbolic links; a link is refused.
    ///
    /// # Errors
    /// Those of openat2(2): `ELOOP` for a link, `ENOTDIR`, `ENOENT`, `EACCES`; `ENOSYS` before Linux 5.6.
    pub fn folder(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(Self { folder: openat2(CWD, path, flags, Mode::empty(), resolve)? })
    }

    /// A folder from its descriptor.
    pub fn at(folder: OwnedFd) -> Self {
        Self { folder }
    }

    /// Opens `relative`, following links that stay inside. With `O_PATH` nothing is accessed yet.
    ///
    /// # Errors
    /// Those of openat2(2); `EXDEV` when the path leads out.
    pub fn open(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.resolve(relative, flags, INSIDE)
    }

    /// The same without following any link.
    ///
    /// # Errors
    /// The same, and `ELOOP` for a link.
    pub fn open_plainly(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.resolve(relative, flags | OFlags::NOFOLLOW, INSIDE | ResolveFlags::NO_SYMLINKS)
    }

    /// Opens the directory at `relative`.
    ///
    /// # Errors
    /// As [`Beneath::open`]; `ENOTDIR` for anything else.
    pub fn directory(&self, relative: &Path) -> Result<Self, Errno> {
        self.open(relative, DIRECTORY).map(Self::at)
    }

    /// Opens the directory `name` in this folder, and never a link to one.
    ///
    /// # Errors
    /// As [`Beneath::open_plainly`]; `ENOTDIR` for anything else, including a link.
    pub fn child(&self, name: &OsStr) -> Result<Self, Errno> {
        self.open_plainly(Path::new(name), DIRECTORY).map(Self::at)
    }

    /// The status of `name` in this folder, without following links; `None` when it does not exist. A mount point is
    /// refused before its file system is asked: fstatat(2) would ask it, and wait for ever for one that never answers.
    ///
    /// # Errors
    /// `EXDEV` for a mount point; those of openat2(2).
    pub fn look(&self, name: &OsStr) -> Result<Option<Stat>, Errno> {
        match self.open_plainly(Path::new(name), OFlags::PATH) {
            Ok(found) => fstat(&found).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The number of the device whose file system has the folder. Asks the file system.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn device(&self) -> Result<u64, Errno> {
        #[allow(clippy::useless_conversion)] // 32 bits wide on some platforms.
        fstat(&self.folder).map(|about| u64::from(about.st_dev))
    }

    /// Opens a regular file at `relative` for reading, with its status. Anything else is only examined: opening a
    /// device can have effects, opening a fifo can block for ever.
    ///
    /// # Errors
    /// As [`Beneath::open`].
    pub fn regular(&self, relative: &Path) -> Result<(OpenedFile, Stat), Errno> {
        Self::read(self.open(relative, OFlags::PATH)?)
    }

    /// The same for a name in this folder, without following links.
    ///
    /// # Errors
    /// As [`Beneath::open_plainly`].
    pub fn regular_here(&self, name: &OsStr) -> Result<(OpenedFile, Stat), Errno> {
        Self::read(self.open_plainly(Path::new(name), OFlags::PATH)?)
    }

    fn read(found: OwnedFd) -> Result<(OpenedFile, Stat), Errno> {
        let about = fstat(&found)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Ok((OpenedFile::Other(FileType::from_raw_mode(about.st_mode)), about));
        }
        let file = open(descriptor(&found), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        Ok((OpenedFile::File(File::from(file)), about))
    }

    fn resolve(&self, relative: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let flags = flags | OFlags::CLOEXEC;
        let mut fault = Errno::AGAIN;
        for _ in 0..ATTEMPTS {
            match openat2(&self.folder, relative, flags, Mode::empty(), resolve) {
                Err(again @ (Errno::AGAIN | Errno::INTR)) => fault = again,
                ended => return ended,
            }
        }
        Err(fault)
    }
}

impl AsFd for Beneath {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The result of [`Beneath::regular`].
#[derive(Debug)]
pub enum OpenedFile {
    File(File),
    Other(FileType),
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// The procfs path of an open descriptor, which needs no further lookup of names.
pub fn descriptor(fd: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// A name in a directory, unless it is `.` or `..`.
pub fn named(name: &[u8]) -> Option<&OsStr> {
    (name != b"." && name != b"..").then(|| OsStr::from_bytes(name))
}
