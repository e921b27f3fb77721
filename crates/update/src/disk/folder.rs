//! A folder of sparse files in place of a card, for the simulated machine and tests with real files.

use super::{Access, Area, BlockDevice, Disk, within};
use base::{
    error::{ErrorCode, ToolError},
    os::lock::Lock,
};
use rustix::fs::{Advice, Mode, OFlags, fadvise, fdatasync, openat};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct FolderDisk {
    folder: PathBuf,
}

impl FolderDisk {
    /// The card in `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Creates the missing areas, filled with zeros: `boot-a.img` and so on, accessible to their owner alone. Existing
    /// ones stay.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(folder: impl Into<PathBuf>, areas: impl IntoIterator<Item = (Area, u64)>) -> io::Result<Self> {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        let disk = Self::at(folder);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&disk.folder)?;
        for (area, size) in areas {
            match File::options().write(true).create_new(true).mode(0o600).open(disk.path(area)) {
                Ok(file) => file.set_len(size)?,
                Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(disk)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of an area.
    pub fn path(&self, area: Area) -> PathBuf {
        self.folder.join(format!("{}.img", area.name().to_lowercase().replace(' ', "-")))
    }
}

impl Disk for FolderDisk {
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let path = self.path(area);
        let about = |error: ToolError| error.with("area", area.name()).with("path", path.display().to_string());
        let writable = access != Access::Read;
        let how = if writable { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(rustix::fs::CWD, &path, flags, Mode::empty()).map_err(|errno| {
            about(match errno {
                rustix::io::Errno::NOENT => ToolError::missing(format!("there is no {} area", area.name())),
                rustix::io::Errno::LOOP => {
                    ToolError::precondition(format!("{} is a symbolic link, no area", path.display()))
                }
                errno => ToolError::unavailable(format!("{} cannot be opened: {errno}", path.display())),
            })
        })?;
        let file = File::from(file);
        let meta = file.metadata().map_err(|fault| about(ToolError::unavailable(fault.to_string())))?;
        if !meta.is_file() {
            return Err(about(ToolError::precondition(format!("{} is no file", path.display()))));
        }
        // Like O_EXCL on a block device: excludes only others who also want exclusive access.
        let held = match access {
            Access::Exclusive => file.try_clone().and_then(Lock::take),
            Access::Read | Access::Shared => Ok(None),
        };
        let held = held.map_err(|fault| about(ToolError::unavailable(fault.to_string())))?;
        if access == Access::Exclusive && held.is_none() {
            let held = format!("the {} area is in use by another process", area.name());
            return Err(about(ToolError::new(ErrorCode::Conflict, held)).hint("wait until it has finished"));
        }
        Ok(Box::new(Opened { file, size: meta.len(), writable, _held: held }))
    }
}

struct Opened {
    file: File,
    size: u64,
    writable: bool,
    _held: Option<Lock>,
}

impl BlockDevice for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        within(self.size, at, into.len())?;
        self.file.read_exact_at(into, at)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        within(self.size, at, bytes.len())?;
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.file.write_all_at(bytes, at)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(fdatasync(&self.file)?)
    }

    /// Drops clean pages from the cache, and reads again. Not every file system supports reads past its cache, and
    /// there is no real medium here.
    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        within(self.size, at, into.len())?;
        fadvise(&self.file, at, std::num::NonZeroU64::new(into.len() as u64), Advice::DontNeed)?;
        self.file.read_exact_at(into, at)
    }
}
