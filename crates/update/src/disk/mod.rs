//! The card as the update engine sees it: named areas, and devices that read, write and flush.
//!
//! The engine never opens a path. [`Disk`] opens the areas of the layout. It is implemented by a real card, a folder of
//! files, and a disk in memory that records every write and flush (for the power-cut model).

mod aligned;
mod booted;
mod folder;
mod layout;
mod memory;
pub mod real;

pub use booted::{BOOTLOADER, booted_partition, cell};
pub use folder::FolderDisk;
pub use layout::{Data, Layout, Partition};
pub use memory::{Event, MemoryDisk};
pub use real::RealDisk;

use super::Slot;
use base::error::ToolError;
use std::io;

/// A part of the card. Numbers and positions: docs/boot.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
    /// Partition 1, FAT: configuration, `autoboot.txt` or `boot.scr`. Never mounted read-write on a running system.
    Config,
    /// Partitions 2 and 3, FAT: firmware files, kernel, initramfs.
    Boot(Slot),
    /// Partitions 5 and 6: the read-only roots.
    Root(Slot),
    /// Partition 7, raw: the agent's state, which must not be lost.
    AgentState,
    /// Partition 8, ext4: `/var` and shared data. The update engine never opens it.
    Data,
    /// U-Boot's two raw copies of 512 bytes at 1 MiB (0) and 5 MiB (1), before the first partition.
    UbootCopy(u8),
}

impl Area {
    /// Its name for people, as in errors.
    pub fn name(self) -> String {
        match self {
            Self::Config => "config".into(),
            Self::Boot(slot) => format!("boot {slot}"),
            Self::Root(slot) => format!("root {slot}"),
            Self::AgentState => "agent state".into(),
            Self::Data => "data".into(),
            Self::UbootCopy(copy) => format!("U-Boot state {}", copy + 1),
        }
    }
}

/// Checks that `length` bytes from `at` are inside an area of `size` bytes.
///
/// # Errors
/// `InvalidInput` when they are not.
fn within(size: u64, at: u64, length: usize) -> io::Result<()> {
    let end = at.checked_add(length as u64).filter(|end| *end <= size);
    end.map(drop).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "outside of the area"))
}

/// How an area is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Read and write, shared with others (state, partition 1).
    Shared,
    /// Read and write, exclusively: `O_EXCL` on a block device fails while it is mounted (open(2)).
    Exclusive,
}

/// The card.
pub trait Disk: Send + Sync {
    /// Opens an area. Never creates one.
    ///
    /// # Errors
    /// `capability_missing` when the layout has no such area here; `conflict` when it is in use (by whom, where that is
    /// known); `failed_precondition` when it is not a block device (or for files, not a regular file); `unavailable`
    /// for other errors.
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError>;
}

/// An open area. Offsets and lengths are in bytes from its start; a call that does not fit into it fails without
/// effect.
pub trait BlockDevice: Send {
    fn size(&self) -> u64;
    /// Fills `into` from `at`, possibly from the page cache.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Returns when everything written before is on the medium (fdatasync(2)).
    fn flush(&self) -> io::Result<()>;
    /// Like `read`, but from the medium itself (`O_DIRECT`): what would remain after a power cut.
    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}
