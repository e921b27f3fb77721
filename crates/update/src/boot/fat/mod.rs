//! A reader for FAT12, FAT16 and FAT32 that trusts no value on the disk (Microsoft, "FAT: General Overview of On-Disk
//! Format", 1.03).
//!
//! Every number from the disk is checked before use, and every loop is bounded by the size of the area. Files cannot be
//! written here: a FAT on a running system is changed sector by sector, in place ([`DirectoryEntry::first_sector`]), or made
//! anew as a whole ([`make`]).

mod directory;
mod make;
mod names;

pub use directory::DirectoryEntry;
pub use make::{FatOverflow, make};
pub use names::ReadAt;

use crate::disk::BlockDevice;
use std::io;

/// Longest file read as a whole, in bytes: such files are short texts.
pub const LONGEST_TEXT: u64 = 64 << 10;
/// Size of the first sector that is needed, in bytes.
pub const FIRST: usize = 512;

/// The FAT type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatType {
    Fat12,
    Fat16,
    Fat32,
}

/// Offsets of a FAT file system's parts, in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fat {
    pub kind: FatType,
    sector: u64,
    cluster: u64,
    fat_at: u64,
    fat_size: u64,
    /// Size of the reserved sectors and all FATs. Without them no file can be found.
    pub head: u64,
    root: Root,
    data_at: u64,
    /// Clusters have the numbers 2 to `clusters + 1`.
    clusters: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// FAT12 and FAT16: a fixed area with this many entries.
    Fixed {
        at: u64,
        entries: u32,
    },
    Chain(u32),
}

fn bad(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

impl Fat {
    /// Reads and checks the first sector of `device`.
    ///
    /// # Errors
    /// Those of reading; `InvalidData`, with the reason, when it is not a FAT file system or does not fit into the
    /// area.
    pub fn of(device: &dyn BlockDevice) -> io::Result<Self> {
        let mut first = [0; FIRST];
        device.read(0, &mut first)?;
        Self::parse(&first, device.size())
    }

    /// Parses the first 512 bytes of a file system in an area of `size` bytes.
    ///
    /// # Errors
    /// `InvalidData`, with the reason.
    pub fn parse(first: &[u8; FIRST], size: u64) -> io::Result<Self> {
        let byte = |at: usize| u64::from(first[at]);
        let half = |at: usize| u64::from(u16::from_le_bytes([first[at], first[at + 1]]));
        let word = |at: usize| half(at) | half(at + 2) << 16;
        let either = |small: u64, large: u64| if small == 0 { large } else { small };

        if first[510..] != [0x55, 0xaa] {
            return Err(bad("its first sector has no signature: it is no FAT file system"));
        }
        let (sector, per_cluster, reserved, fats) = (half(11), byte(13), half(14), byte(16));
        if !sector.is_power_of_two() || !(512..=4096).contains(&sector) {
            return Err(bad(format!("sectors of {sector} bytes")));
        }
        if !per_cluster.is_power_of_two() || reserved == 0 || !(1..=2).contains(&fats) {
            return Err(bad(format!("{per_cluster} sectors a cluster, {reserved} reserved sectors, {fats} FATs")));
        }
        let (entries, sectors, fat_sectors) = (half(17), either(half(19), word(32)), either(half(22), word(36)));
        let root_sectors = (entries * 32).div_ceil(sector);
        let head = reserved + fats * fat_sectors;
        let data = head + root_sectors;
        if sectors.saturating_mul(sector) > size {
            return Err(bad(format!("it says {sectors} sectors of {sector} bytes, the area has {size} bytes")));
        }
        if fat_sectors == 0 || data >= sectors {
            return Err(bad(format!("no room for data: {data} of {sectors} sectors are its own")));
        }
        let clusters = (sectors - data) / per_cluster;
        // Linux and U-Boot recognize FAT32 by this field, and the other two by the number of clusters.
        let kind = match clusters {
            _ if half(22) == 0 => FatType::Fat32,
            0..4085 => FatType::Fat12,
            _ => FatType::Fat16,
        };
        let (bits, most) = match kind {
            FatType::Fat12 => (12, 4084),
            FatType::Fat16 => (16, 65524),
            FatType::Fat32 => (32, 0x0fff_fff4),
        };
        if clusters == 0 || clusters > most || ((clusters + 2) * bits).div_ceil(8) > fat_sectors * sector {
            return Err(bad(format!("{clusters} clusters do not fit into its FAT of {fat_sectors} sectors")));
        }
        let root = match kind {
            FatType::Fat32 => Root::Chain(u32::try_from(word(44)).unwrap_or(u32::MAX)),
            _ if entries == 0 => return Err(bad("no root directory")),
            _ => Root::Fixed { at: head * sector, entries: u32::try_from(entries).unwrap_or(u32::MAX) },
        };
        // FAT32 may keep only one of its FATs up to date; this field says which.
        let active = if kind == FatType::Fat32 && half(40) & 0x80 != 0 { half(40) & 0xf } else { 0 };
        if active >= fats {
            return Err(bad(format!("FAT {active} is the valid one of {fats}")));
        }
        Ok(Self {
            kind,
            sector,
            cluster: per_cluster * sector,
            fat_at: (reserved + active * fat_sectors) * sector,
            fat_size: fat_sectors * sector,
            head: head * sector,
            root,
            data_at: data * sector,
            clusters: u32::try_from(clusters).map_err(|_| bad("more clusters than any FAT has"))?,
        })
    }

    /// Finds the entry of the root directory with this name, case-insensitively, by its long or its short name.
    /// Directories are not found.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when the directory cannot be traversed.
    pub fn find(&self, device: &dyn BlockDevice, name: &str) -> io::Result<Option<DirectoryEntry>> {
        directory::find(self, device, name)
    }

    /// The file's bytes; at most 64 KiB.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` when its chain is shorter than its length, or it is longer than 64 KiB.
    pub fn text(&self, device: &dyn BlockDevice, entry: &DirectoryEntry) -> io::Result<Vec<u8>> {
        self.bytes(device, entry, LONGEST_TEXT)
    }

    /// The file's bytes; at most `most`.
    ///
    /// # Errors
    /// As [`Fat::text`].
    pub fn bytes(&self, device: &dyn BlockDevice, entry: &DirectoryEntry, most: u64) -> io::Result<Vec<u8>> {
        let size = u64::from(entry.size);
        if size > most {
            return Err(bad(format!("{size} bytes where {} KiB is the most", most >> 10)));
        }
        let mut text = Vec::new();
        self.walk(device, entry.cluster, size, |at, length| {
            let before = text.len();
            text.resize(before + usize::try_from(length).map_err(|_| bad("too long"))?, 0);
            device.read(at, &mut text[before..])
        })?;
        Ok(text)
    }

    /// Checks that every cluster of the file is present. Reads the FAT only.
    ///
    /// # Errors
    /// Those of [`Fat::text`], except for the length.
    pub fn whole(&self, device: &dyn BlockDevice, entry: &DirectoryEntry) -> io::Result<()> {
        self.walk(device, entry.cluster, u64::from(entry.size), |_, _| Ok(()))
    }

    /// Calls `each` with offset and length of every cluster of the file, whole.
    ///
    /// # Errors
    /// Those of `each`, and of [`Fat::whole`], after the clusters that could be reached.
    pub fn each_piece(
        &self,
        device: &dyn BlockDevice,
        entry: &DirectoryEntry,
        mut each: impl FnMut(u64, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let whole = usize::try_from(self.cluster).map_err(|_| bad("clusters too large"))?;
        self.walk(device, entry.cluster, u64::from(entry.size), |at, _| each(at, whole))
    }

    /// Calls `each` with offset and length of every piece of the first `size` bytes of a chain.
    fn walk(
        &self,
        device: &dyn BlockDevice,
        first: u32,
        size: u64,
        mut each: impl FnMut(u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut left, mut cluster, mut steps) = (size, first, 0);
        while left > 0 {
            let at = self.place(cluster)?;
            let length = left.min(self.cluster);
            each(at, length)?;
            left -= length;
            steps += 1;
            if left > 0 {
                // A circular chain ends here at the latest.
                let next = if steps <= self.clusters { self.next(device, cluster)? } else { None };
                cluster = next.ok_or_else(|| bad(format!("its chain of clusters ends {left} bytes too early")))?;
            }
        }
        Ok(())
    }

    /// The offset of a cluster.
    fn place(&self, cluster: u32) -> io::Result<u64> {
        let index = cluster.checked_sub(2).filter(|index| *index < self.clusters);
        let index = index.ok_or_else(|| bad(format!("cluster {cluster} is none of the {}", self.clusters)))?;
        Ok(self.data_at + u64::from(index) * self.cluster)
    }

    /// The cluster after this one; `None` at the end of the chain, or where it is broken.
    fn next(&self, device: &dyn BlockDevice, cluster: u32) -> io::Result<Option<u32>> {
        let (at, length) = self.link(cluster)?;
        let mut word = [0; 4];
        device.read(at, &mut word[..length])?;
        Ok(self.linked(cluster, word))
    }

    /// Position and width, in bytes, of a cluster's FAT entry.
    fn link(&self, cluster: u32) -> io::Result<(u64, usize)> {
        self.place(cluster)?;
        let n = u64::from(cluster);
        let (at, length) = match self.kind {
            FatType::Fat12 => (n + n / 2, 2),
            FatType::Fat16 => (n * 2, 2),
            FatType::Fat32 => (n * 4, 4),
        };
        if at + length > self.fat_size {
            return Err(bad("the FAT is too short for its clusters"));
        }
        Ok((self.fat_at + at, if length == 2 { 2 } else { 4 }))
    }

    /// Decodes that entry.
    fn linked(&self, cluster: u32, word: [u8; 4]) -> Option<u32> {
        let word = u32::from_le_bytes(word);
        let value = match self.kind {
            FatType::Fat12 if cluster % 2 == 1 => word >> 4,
            FatType::Fat12 => word & 0xfff,
            FatType::Fat16 => word,
            FatType::Fat32 => word & 0x0fff_ffff,
        };
        Some(value).filter(|value| self.place(*value).is_ok())
    }
}
