//! Just enough of FAT to read every name in it (Microsoft, "FAT: General Overview of On-Disk Format", 1.03). Reads bytes that nobody has
//! verified: every place is checked against the image, every walk has an end.

use super::Fault;
use std::io;

/// Fills the buffer from a place in the image.
pub type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// Most bytes of directories that are read: 131072 entries. A boot image has some hundreds.
const MAX_DIRECTORIES: u64 = 4 << 20;
const PAGE: u64 = 4096;
const ENTRY: u64 = 32;
const WHAT: &str = "the boot image";
const LONG_NAME: u8 = 0x0f;
const VOLUME: u8 = 0x08;
const FOLDER: u8 = 0x10;

pub struct Fat<'r, 'a> {
    read: &'r mut ReadAt<'a>,
    size: u64,
    page: Vec<u8>,
    page_at: Option<u64>,
    bits: u32,
    fat_at: u64,
    data_at: u64,
    cluster_size: u64,
    clusters: u32,
    root: Run,
}

/// Where a directory is: in a row, or along a chain of clusters.
#[derive(Clone, Copy)]
enum Run {
    Row { at: u64, length: u64 },
    Chain(u32),
}

impl<'r, 'a> Fat<'r, 'a> {
    pub fn open(size: u64, read: &'r mut ReadAt<'a>) -> Result<Self, Fault> {
        let root = Run::Row { at: 0, length: 0 };
        let (page, page_at) = (Vec::new(), None);
        let mut fat =
            Fat { read, size, page, page_at, bits: 0, fat_at: 0, data_at: 0, cluster_size: 0, clusters: 0, root };
        let mut boot = [0; 512];
        fat.bytes(0, &mut boot)?;
        let half = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        let word = |at: usize| half(at) | half(at + 2) << 16;
        let either = |short: u64, long: u64| if short == 0 { long } else { short };
        let (sector, per_cluster) = (half(11), u64::from(boot[13]));
        let (reserved, fats, root_entries) = (half(14), u64::from(boot[16]), half(17));
        let (sectors, fat_sectors) = (either(half(19), word(32)), either(half(22), word(36)));
        let plain = boot[510..] == [0x55, 0xaa]
            && (512..=4096).contains(&sector)
            && sector.is_power_of_two()
            && per_cluster.is_power_of_two()
            && reserved > 0
            && (1..=2).contains(&fats)
            && sectors * sector <= size;
        let not_fat = || Fault::malformed(WHAT, "it is not a FAT file system of its size");
        if !plain {
            return Err(not_fat());
        }
        // All are 32 bits at most, so none of these can overflow.
        let root_sectors = (root_entries * ENTRY).div_ceil(sector);
        let data = reserved + fats * fat_sectors + root_sectors;
        if data >= sectors {
            return Err(not_fat());
        }
        let clusters = (sectors - data) / per_cluster;
        fat.bits = match clusters {
            ..4085 => 12,
            ..65525 => 16,
            _ => 32,
        };
        fat.fat_at = reserved * sector;
        fat.data_at = data * sector;
        fat.cluster_size = per_cluster * sector;
        fat.clusters = u32::try_from(clusters).map_err(|_| Fault::malformed(WHAT, "it has too many clusters"))?;
        if (clusters + 2) * u64::from(fat.bits) > fat_sectors * sector * 8 || (fat.bits == 32) != (root_entries == 0) {
            return Err(Fault::malformed(WHAT, "its FAT does not fit its size"));
        }
        fat.root = match fat.bits {
            32 => Run::Chain(word(44) as u32),
            _ => Run::Row { at: fat.data_at - root_sectors * sector, length: root_entries * ENTRY },
        };
        Ok(fat)
    }

    /// Tells `seen` every name of every file and folder: long ones and short ones.
    pub fn walk(&mut self, seen: &mut dyn FnMut(&str) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut left = MAX_DIRECTORIES;
        let mut todo = vec![self.root];
        while let Some(run) = todo.pop() {
            let mut next = Some(run);
            let mut long = LongName::default();
            'folder: while let Some(run) = next {
                let (at, length) = match run {
                    Run::Row { at, length } => (at, length),
                    Run::Chain(cluster) => (self.place(cluster)?, self.cluster_size),
                };
                left = left.checked_sub(length).ok_or_else(|| Fault::malformed(WHAT, "its folders have no end"))?;
                for n in 0..length / ENTRY {
                    let mut entry = [0; ENTRY as usize];
                    self.bytes(at + n * ENTRY, &mut entry)?;
                    match (entry[0], entry[11]) {
                        (0, _) => break 'folder,
                        (0xe5, _) => long = LongName::default(),
                        (_, LONG_NAME) => long.take(&entry),
                        (_, attributes) if attributes & VOLUME != 0 => long = LongName::default(),
                        (first, attributes) => {
                            let short = short_name(&entry);
                            seen(&std::mem::take(&mut long).text())?;
                            seen(&short)?;
                            if attributes & FOLDER != 0 && first != b'.' {
                                let low = u32::from(u16::from_le_bytes([entry[26], entry[27]]));
                                let high = u32::from(u16::from_le_bytes([entry[20], entry[21]]));
                                todo.push(Run::Chain(if self.bits == 32 { low | high << 16 } else { low }));
                            }
                        }
                    }
                }
                next = match run {
                    Run::Row { .. } => None,
                    Run::Chain(cluster) => self.after(cluster)?.map(Run::Chain),
                };
            }
        }
        Ok(())
    }

    /// Where a cluster is.
    fn place(&self, cluster: u32) -> Result<u64, Fault> {
        match cluster.checked_sub(2) {
            Some(n) if n < self.clusters => Ok(self.data_at + u64::from(n) * self.cluster_size),
            _ => Err(Fault::malformed(WHAT, format!("a folder is at cluster {cluster}, which it does not have"))),
        }
    }

    /// The cluster after this one, if the chain goes on.
    fn after(&mut self, cluster: u32) -> Result<Option<u32>, Fault> {
        let place = self.fat_at + u64::from(cluster) * u64::from(self.bits) / 8;
        let mut bytes = [0; 4];
        let width = if self.bits == 32 { 4 } else { 2 };
        self.bytes(place, &mut bytes[..width])?;
        let value = u32::from_le_bytes(bytes);
        let (next, end) = match self.bits {
            12 if cluster % 2 == 1 => (value >> 4 & 0xfff, 0xff8),
            12 => (value & 0xfff, 0xff8),
            16 => (value, 0xfff8),
            _ => (value & 0x0fff_ffff, 0x0fff_fff8),
        };
        Ok(if next >= end { None } else { Some(next) })
    }

    /// Copies bytes of the image out of the one page that is kept.
    fn bytes(&mut self, mut at: u64, mut into: &mut [u8]) -> Result<(), Fault> {
        if at.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            return Err(Fault::malformed(WHAT, "it points past its end"));
        }
        while !into.is_empty() {
            let start = at - at % PAGE;
            if self.page_at != Some(start) {
                self.page_at = None;
                self.page.resize((self.size - start).min(PAGE) as usize, 0);
                (self.read)(start, &mut self.page).map_err(|error| Fault::io(WHAT, &error))?;
                self.page_at = Some(start);
            }
            let from = &self.page[(at - start) as usize..];
            let length = from.len().min(into.len());
            into[..length].copy_from_slice(&from[..length]);
            into = &mut into[length..];
            at += length as u64;
        }
        Ok(())
    }
}

/// A long name, as its entries come: 13 letters each, the last part first.
#[derive(Default)]
struct LongName(Vec<u16>);

impl LongName {
    fn take(&mut self, entry: &[u8; 32]) {
        const LETTERS: [usize; 13] = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
        // 20 entries are 260 letters; what is longer is no name, and is not added up.
        if entry[0] & 0x40 != 0 || self.0.len() >= 260 {
            self.0.clear();
        }
        let part = LETTERS.iter().map(|at| u16::from_le_bytes([entry[*at], entry[*at + 1]]));
        self.0.splice(0..0, part);
    }

    fn text(self) -> String {
        let end = self.0.iter().position(|letter| *letter == 0 || *letter == 0xffff).unwrap_or(self.0.len());
        String::from_utf16_lossy(&self.0[..end])
    }
}

fn short_name(entry: &[u8; 32]) -> String {
    let text = |part: &[u8]| String::from_utf8_lossy(part).trim_end().to_owned();
    let (stem, end) = (text(&entry[..8]), text(&entry[8..11]));
    if end.is_empty() { stem } else { format!("{stem}.{end}") }
}
