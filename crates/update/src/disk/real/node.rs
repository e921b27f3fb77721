//! An open device node: cached writes for exclusive areas, direct ones otherwise.

use super::sysfs::SysfsBlock;
use crate::disk::{Access, BlockDevice, aligned::Aligned, within};
use base::{
    error::{ErrorCode, ToolError},
    os::{Root, lock::Lock},
};
use rustix::{
    fs::{Advice, FileType, Mode, OFlags, fadvise, fdatasync, fstat, major, minor, openat},
    io::Errno,
};
use std::{cell::RefCell, fs::File, io, os::unix::fs::FileExt};

/// Bytes read or written past the cache at a time: what SD hosts accept as one request.
const PIECE: u64 = 512 << 10;

/// The node to open.
pub(super) struct DeviceNode<'a> {
    pub root: &'a Root,
    pub block: &'a SysfsBlock,
    /// Offset and size of the area on the device, in bytes.
    pub offset: u64,
    pub size: u64,
    pub block_size: u64,
}

impl DeviceNode<'_> {
    pub(super) fn open(&self, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let cached = match access {
            // Never O_CREAT: a missing device must not become a file.
            Access::Read | Access::Shared => self.file(OFlags::RDONLY)?,
            Access::Exclusive => self.file(OFlags::RDWR | OFlags::EXCL)?,
        };
        let mut held = None;
        if access == Access::Exclusive && !self.root.is_system() {
            held = cached.try_clone().and_then(Lock::take).map_err(|_| self.busy())?;
            held.as_ref().ok_or_else(|| self.busy())?;
        }
        let how = if access == Access::Shared { OFlags::RDWR } else { OFlags::RDONLY };
        let direct = match self.file(how | OFlags::DIRECT) {
            // Not every file system used for tests supports it.
            Err(_) if !self.root.is_system() => self.file(how)?,
            opened => opened?,
        };
        Ok(Box::new(Opened {
            cached,
            direct,
            access,
            offset: self.offset,
            size: self.size,
            block_size: self.block_size,
            buffer: RefCell::new(None),
            _held: held,
        }))
    }

    fn busy(&self) -> ToolError {
        ToolError::new(ErrorCode::Conflict, format!("{} is in use by somebody else", self.block.name))
            .hint("an automounter, or another update, has it open: see who by fuser or lsblk")
    }

    fn file(&self, how: OFlags) -> Result<File, ToolError> {
        let path = self.root.path(&format!("dev/{}", self.block.name));
        let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(rustix::fs::CWD, &path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::BUSY => self.busy(),
            Errno::NOENT => ToolError::missing(format!("{} is missing", path.display())),
            Errno::LOOP => {
                ToolError::precondition(format!("{} is a symbolic link: it may lead anywhere", path.display()))
            }
            errno => ToolError::unavailable(format!("{} cannot be opened: {errno}", path.display()))
                .hint("the agent's unit has to allow disks: images with two slots bring a drop-in, dist/slots"),
        })?;
        let about = fstat(&file).map_err(|errno| ToolError::unavailable(errno.to_string()))?;
        let kind = FileType::from_raw_mode(about.st_mode);
        let number = format!("{}:{}", major(about.st_rdev), minor(about.st_rdev));
        let right = match self.root.is_system() {
            true => kind == FileType::BlockDevice && number == self.block.dev,
            false => kind == FileType::RegularFile,
        };
        if !right {
            return Err(ToolError::precondition(format!(
                "{} is not the block device {} that the kernel lists",
                path.display(),
                self.block.dev
            )));
        }
        Ok(File::from(file))
    }
}

struct Opened {
    /// Through the page cache; writable if the area is exclusive.
    cached: File,
    /// Past the cache; writable if the area is shared.
    direct: File,
    access: Access,
    offset: u64,
    size: u64,
    block_size: u64,
    buffer: RefCell<Option<Aligned>>,
    _held: Option<Lock>,
}

impl Opened {
    /// Calls `each` with the pieces of whole blocks that `at..at + length` touches: offset on the device, the buffer,
    /// and the ranges of the wanted part in the buffer and in the caller's bytes.
    fn pieces(
        &self,
        at: u64,
        length: usize,
        mut each: impl FnMut(u64, &mut [u8], std::ops::Range<usize>, std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffer = self.buffer.borrow_mut();
        let (from, mut done) = (self.offset + at, 0);
        while done < length {
            let start = from + done as u64;
            let first = start - start % self.block_size;
            let end = (from + length as u64).next_multiple_of(self.block_size).min(first + PIECE);
            let inside = (start - first) as usize;
            let part = (length - done).min((end - first) as usize - inside);
            let want = (end - first) as usize;
            if buffer.as_mut().is_none_or(|buffer| buffer.as_mut().len() < want) {
                *buffer = Some(Aligned::new(want));
            }
            let Some(bytes) = buffer.as_mut() else { return Err(io::ErrorKind::OutOfMemory.into()) };
            each(first, &mut bytes.as_mut()[..want], inside..inside + part, done..done + part)?;
            done += part;
        }
        Ok(())
    }
}

impl BlockDevice for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        within(self.size, at, into.len())?;
        self.cached.read_exact_at(into, self.offset + at)
    }

    /// Whole blocks only: anything else would also rewrite the surrounding bytes.
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        within(self.size, at, bytes.len())?;
        let whole = |length: u64| length.is_multiple_of(self.block_size);
        if !whole(self.offset + at) || !whole(bytes.len() as u64) {
            let why = format!("{} bytes at {at} are no whole blocks of {}", bytes.len(), self.block_size);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        match self.access {
            Access::Read => Err(io::ErrorKind::PermissionDenied.into()),
            Access::Exclusive => self.cached.write_all_at(bytes, self.offset + at),
            Access::Shared => self.pieces(at, bytes.len(), |place, buffer, _, theirs| {
                buffer.copy_from_slice(&bytes[theirs]);
                self.direct.write_all_at(buffer, place)
            }),
        }
    }

    fn flush(&self) -> io::Result<()> {
        if self.access == Access::Exclusive {
            fdatasync(&self.cached)?;
            // Frees the memory: gigabytes on the card need not be cached.
            fadvise(&self.cached, self.offset, None, Advice::DontNeed)?;
        } else {
            fdatasync(&self.direct)?;
        }
        Ok(())
    }

    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        within(self.size, at, into.len())?;
        self.pieces(at, into.len(), |place, buffer, inside, theirs| {
            self.direct.read_exact_at(buffer, place)?;
            into[theirs].copy_from_slice(&buffer[inside]);
            Ok(())
        })
    }
}
