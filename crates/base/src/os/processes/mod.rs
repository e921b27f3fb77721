//! Processes: `/proc/[pid]`. All accesses are relative to one open directory, with a shared buffer.

pub mod detail;
pub mod environment;
pub mod holders;
pub mod load;
pub mod memory;
pub mod sockets;
pub mod stat;

pub use stat::Stat;

use super::{Root, root::named};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Mode, OFlags, RawDir},
};
use std::{io, mem::MaybeUninit};

/// Longest text kept of one process' command line, in bytes.
const CMDLINE: usize = 4096;
/// `/proc/[pid]/stat` has 52 numbers and a name: at most some 1100 bytes.
const BUFFER: usize = 4096;

/// `/proc`, open, and a buffer.
#[derive(Debug)]
pub struct Proc {
    folder: OwnedFd,
    buffer: Vec<u8>,
}

impl Proc {
    /// # Errors
    /// Those of opening `/proc` below `root`.
    pub fn open(root: &Root) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(root.path("proc"), flags, Mode::empty())
            .map_err(|error| named("proc", &io::Error::from(error)))?;
        Ok(Self { folder, buffer: vec![0; BUFFER] })
    }

    /// All current processes. Those that end meanwhile are skipped.
    ///
    /// # Errors
    /// Those of reading the directory; `InvalidData` when a process' numbers cannot be parsed.
    pub fn all(&mut self) -> io::Result<Vec<Stat>> {
        let mut stats = Vec::with_capacity(256);
        for pid in self.pids()? {
            match self.stat(pid) {
                Ok(stat) => stats.push(stat),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(stats)
    }

    fn pids(&self) -> io::Result<Vec<u32>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // A separate descriptor: reading a directory moves its position.
        let folder = rustix::fs::openat(&self.folder, c".", flags, Mode::empty())?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(&folder, &mut buffer);
        let mut pids = Vec::with_capacity(256);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            pids.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()));
        }
        Ok(pids)
    }

    /// The numbers of one process.
    ///
    /// # Errors
    /// See [`is_gone`]; `InvalidData` when they cannot be parsed.
    pub fn stat(&mut self, pid: u32) -> io::Result<Stat> {
        let length = self.fill(pid, "stat")?;
        Stat::parse(&self.buffer[..length])
            .ok_or_else(|| super::malformed(&format!("proc/{pid}/stat"), "its form is new"))
    }

    /// Reads `/proc/PID/NAME` into the buffer, up to its size.
    fn fill(&mut self, pid: u32, name: &str) -> io::Result<usize> {
        let file = self.open_at(&format!("{pid}/{name}"), OFlags::RDONLY)?;
        // The kernel generates both files in one piece: a read that does not fill the buffer is complete
        // (fs/proc/base.c, fs/seq_file.c).
        Ok(rustix::io::read(&file, &mut self.buffer)?)
    }

    fn open_at(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.folder, path, flags | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Its effective user id.
    ///
    /// # Errors
    /// See [`is_gone`].
    pub fn owner(&self, pid: u32) -> io::Result<u32> {
        Ok(rustix::fs::statat(&self.folder, pid.to_string(), AtFlags::SYMLINK_NOFOLLOW)?.st_uid)
    }

    /// Its arguments, at most 4 KiB; empty for a kernel thread or a zombie.
    ///
    /// # Errors
    /// See [`is_gone`].
    pub fn cmdline(&mut self, pid: u32) -> io::Result<Vec<String>> {
        let length = self.fill(pid, "cmdline")?.min(CMDLINE);
        Ok(split(&self.buffer[..length]))
    }

    /// The target of a link like `exe` or `cwd`.
    ///
    /// # Errors
    /// `PermissionDenied` for processes of others; see [`is_gone`].
    pub fn link(&self, pid: u32, name: &str) -> io::Result<String> {
        let target = rustix::fs::readlinkat(&self.folder, format!("{pid}/{name}"), Vec::new())?;
        Ok(target.to_string_lossy().into_owned())
    }
}

/// Splits arguments or variables, each ended by a zero byte.
fn split(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// Whether the process had ended.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}
