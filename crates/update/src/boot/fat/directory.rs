//! The root directory: short names, long names, and the start of a file.

use super::{Fat, FatType, Root, bad};
use crate::disk::BlockDevice;
use std::io;

const ENTRY: usize = 32;
/// Limit of entries read: the root directory of a boot partition has some dozens. FAT itself allows 65536.
const MOST_ENTRIES: u32 = 16384;
/// UTF-16 units of the longest name, in whole entries of 13.
const LONGEST_NAME: usize = 260;

/// A file in the root directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub size: u32,
    pub(super) cluster: u32,
}

impl DirectoryEntry {
    /// The position of its first sector, in bytes from the start of the area. A file of at most one sector is complete
    /// there: clusters are aligned to sectors.
    ///
    /// # Errors
    /// `InvalidData` when it is empty, or its cluster is invalid.
    pub fn first_sector(&self, fat: &Fat) -> io::Result<u64> {
        if self.size == 0 {
            return Err(bad("it is empty"));
        }
        fat.place(self.cluster)
    }
}

pub(super) fn find(fat: &Fat, device: &dyn BlockDevice, name: &str) -> io::Result<Option<DirectoryEntry>> {
    let mut search = Search { name, wide: fat.kind == FatType::Fat32, seen: 0, long: LongName::default() };
    let mut buffer = vec![0; usize::try_from(fat.cluster.min(fat.sector * 8)).map_err(|_| bad("clusters too large"))?];
    match fat.root {
        Root::Fixed { at, entries } => {
            let length = u64::from(entries) * ENTRY as u64;
            Ok(search.piece(device, at, length, &mut buffer)?.flatten())
        }
        Root::Chain(first) => {
            let (mut cluster, mut steps) = (first, 0);
            loop {
                if let Some(end) = search.piece(device, fat.place(cluster)?, fat.cluster, &mut buffer)? {
                    return Ok(end);
                }
                steps += 1;
                match fat.next(device, cluster)? {
                    Some(next) if steps <= fat.clusters => cluster = next,
                    _ => return Ok(None),
                }
            }
        }
    }
}

struct Search<'a> {
    name: &'a str,
    /// Whether cluster numbers have upper 16 bits.
    wide: bool,
    seen: u32,
    long: LongName,
}

impl Search<'_> {
    /// Searches one contiguous piece. `Some` ends the search: found, or the end of the directory.
    fn piece(
        &mut self,
        device: &dyn BlockDevice,
        at: u64,
        length: u64,
        buffer: &mut [u8],
    ) -> io::Result<Option<Option<DirectoryEntry>>> {
        let mut done = 0;
        while done < length {
            let part = usize::try_from(length - done).unwrap_or(usize::MAX).min(buffer.len());
            let part = &mut buffer[..part];
            device.read(at + done, part)?;
            for entry in part.as_chunks::<ENTRY>().0 {
                self.seen += 1;
                if entry[0] == 0 || self.seen > MOST_ENTRIES {
                    return Ok(Some(None));
                }
                if let Some(found) = self.entry(entry) {
                    return Ok(Some(Some(found)));
                }
            }
            done += part.len() as u64;
        }
        Ok(None)
    }

    fn entry(&mut self, entry: &[u8; ENTRY]) -> Option<DirectoryEntry> {
        const DELETED: u8 = 0xe5;
        const LONG: u8 = 0x0f;
        /// A directory, or the label.
        const NO_FILE: u8 = 0x18;
        let attributes = entry[11];
        if entry[0] == DELETED {
            self.long = LongName::default();
            return None;
        }
        if attributes & 0x3f == LONG {
            self.long.take(entry);
            return None;
        }
        let long = std::mem::take(&mut self.long);
        if attributes & NO_FILE != 0 {
            return None;
        }
        let named = short(entry).eq_ignore_ascii_case(self.name.as_bytes()) || long.is(self.name, entry);
        let half = |at: usize| u32::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
        named.then(|| DirectoryEntry {
            size: half(28) | half(30) << 16,
            cluster: half(26) | if self.wide { half(20) << 16 } else { 0 },
        })
    }
}

/// `NAME.EXT` for `NAME    EXT`.
pub(super) fn short(entry: &[u8; ENTRY]) -> Vec<u8> {
    let name = entry[..8].trim_ascii_end();
    let extension = entry[8..11].trim_ascii_end();
    if extension.is_empty() { name.to_vec() } else { [name, b".", extension].concat() }
}

/// The pieces of a long name, which come before the short entry, last piece first.
struct LongName {
    units: [u16; LONGEST_NAME],
    /// The number of the next expected piece; 0 when complete. `None`: not inside a name.
    wanted: Option<u8>,
    sum: u8,
}

impl Default for LongName {
    fn default() -> Self {
        Self { units: [0; LONGEST_NAME], wanted: None, sum: 0 }
    }
}

impl LongName {
    fn take(&mut self, entry: &[u8; ENTRY]) {
        let (number, sum) = (entry[0] & 0x3f, entry[13]);
        if entry[0] & 0x40 != 0 {
            *self = Self { wanted: Some(number), sum, ..Self::default() };
        }
        let fits = (1..=20).contains(&number) && self.wanted == Some(number) && sum == self.sum;
        if !fits {
            *self = Self::default();
            return;
        }
        let places = (1..11).step_by(2).chain((14..26).step_by(2)).chain((28..32).step_by(2));
        let units = &mut self.units[usize::from(number - 1) * 13..];
        for (unit, at) in units.iter_mut().zip(places) {
            *unit = u16::from_le_bytes([entry[at], entry[at + 1]]);
        }
        self.wanted = Some(number - 1);
    }

    /// Whether this is `name`, and belongs to the short entry that follows.
    fn is(&self, name: &str, entry: &[u8; ENTRY]) -> bool {
        let sum = entry[..11].iter().fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
        let end = self.units.iter().position(|unit| *unit == 0).unwrap_or(LONGEST_NAME);
        let said = String::from_utf16_lossy(&self.units[..end]);
        self.wanted == Some(0) && sum == self.sum && said.eq_ignore_ascii_case(name)
    }
}
