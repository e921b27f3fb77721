//! The partition table of a card with two slots: an MBR and its chain of extended boot records. It is checked strictly;
//! then the sectors to write are determined that give the data partition the rest of the disk.
//!
//! Source: block/partitions/msdos.c of Linux. Each logical partition has a sector before it with two entries: the
//! partition, relative to that sector, and the next such sector, relative to the start of the extended partition.

use base::error::ToolError;
use std::io;
use update::disk::Layout;

pub const SECTOR: u64 = 512;
/// Image builders align partitions to 1 MiB; the end of the data partition is aligned in the same way.
const ALIGNMENT: u64 = (1 << 20) / SECTOR;
/// A table has 32-bit sector numbers: 2 TiB. Space beyond stays unused.
const MOST: u64 = u32::MAX as u64;
/// Number of the last partition that a chain is followed to; the layout ends at 8.
const LONGEST_CHAIN: u8 = 11;
const EXTENDED: [u8; 2] = [0x05, 0x0f];
const GPT: u8 = 0xee;

pub type Bytes = [u8; SECTOR as usize];

/// A sector of the disk, read or to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sector {
    /// Its number on the disk.
    pub at: u64,
    pub bytes: Bytes,
}

/// A partition table that matches the layout and ends with the data partition.
#[derive(Debug)]
pub struct Table {
    disk: u64,
    /// The MBR, whose fourth entry is the extended partition.
    mbr: Sector,
    /// The record that points to the data partition's, if there is one before it.
    link: Option<Sector>,
    /// The record of the data partition.
    record: Sector,
    extended: SectorRange,
    data: SectorRange,
}

/// A range of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorRange {
    pub start: u64,
    pub size: u64,
}

impl SectorRange {
    pub fn end(self) -> u64 {
        self.start + self.size
    }
}

#[derive(Clone, Copy)]
struct Entry {
    kind: u8,
    start: u64,
    size: u64,
}

impl Sector {
    fn entry(&self, index: usize) -> Entry {
        let at = 446 + 16 * index;
        let word = |at: usize| {
            u64::from(u32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]]))
        };
        Entry { kind: self.bytes[at + 4], start: word(at + 8), size: word(at + 12) }
    }

    /// A copy with the entry's size changed to `size` sectors. `None` if it is not larger than the current size, or
    /// above 32 bits.
    fn grown(&self, index: usize, size: u64) -> Option<Self> {
        let size = u32::try_from(size).ok().filter(|size| u64::from(*size) > self.entry(index).size)?;
        let mut grown = self.clone();
        grown.bytes[446 + 16 * index + 12..][..4].copy_from_slice(&size.to_le_bytes());
        Some(grown)
    }

    fn signed(&self) -> bool {
        self.bytes[510..] == [0x55, 0xaa]
    }
}

impl Table {
    /// Reads the table of a disk of `disk` sectors.
    ///
    /// # Errors
    /// `unavailable` when a sector cannot be read; `failed_precondition` for everything that differs from the layout:
    /// another signature, a GPT, other types, order or chain, and a disk that is smaller than the table. Each says what
    /// it found.
    pub fn read(disk: u64, layout: &Layout, mut read: impl FnMut(u64) -> io::Result<Bytes>) -> Result<Self, ToolError> {
        let mut sector = |at: u64| {
            let bytes = read(at)
                .map_err(|fault| ToolError::unavailable(format!("sector {at} of the card cannot be read: {fault}")))?;
            Ok::<_, ToolError>(Sector { at, bytes })
        };
        let mbr = sector(0)?;
        primaries(&mbr, &sector(1)?, layout).map_err(|why| foreign(layout, &why))?;
        let extended = mbr.entry(3);
        let extended = SectorRange { start: extended.start, size: extended.size };
        if extended.end() > disk {
            return Err(ToolError::precondition(format!(
                "the card has {disk} sectors and its partition table needs {}",
                extended.end()
            ))
            .hint("write the image to a larger card: what is beyond its end cannot be read"));
        }
        let mut chain: Vec<(Sector, SectorRange)> = Vec::new();
        let mut at = extended.start;
        loop {
            let number = 5 + chain.len() as u8;
            let record = sector(at)?;
            let (span, next) = logical(&record, number, extended, layout).map_err(|why| foreign(layout, &why))?;
            chain.push((record, span));
            match next {
                Some(_) if number >= LONGEST_CHAIN => {
                    return Err(foreign(layout, "its chain of partitions does not end"));
                }
                Some(next) => at = next,
                None => break,
            }
        }
        let last = 4 + chain.len() as u8;
        let (record, data) = chain.pop().ok_or_else(|| ToolError::internal("a chain without partitions"))?;
        if layout.data.map(|data| data.number) != Some(last) {
            return Err(foreign(layout, &format!("its last partition, {last}, is not the one of data")));
        }
        Ok(Self { disk, mbr, link: chain.pop().map(|(record, _)| record), record, extended, data })
    }

    /// The current data partition.
    pub fn data(&self) -> SectorRange {
        self.data
    }

    /// The data partition with the rest of the disk.
    pub fn grown(&self) -> SectorRange {
        let end = self.disk.min(MOST);
        let end = (end - end % ALIGNMENT).max(self.data.end());
        SectorRange { size: end - self.data.start, ..self.data }
    }

    /// The sectors to write for that, in order; each must be on the medium before the next one. Containers grow first,
    /// so that the table is valid after each of them. Empty if nothing changes.
    pub fn writes(&self) -> Vec<Sector> {
        let grown = self.grown();
        let within = |start: u64| grown.end() - start;
        let link = self.link.as_ref().and_then(|link| link.grown(1, within(self.record.at)));
        let writes = [
            self.mbr.grown(3, within(self.extended.start)),
            link,
            self.record.grown(0, grown.size).filter(|_| grown.size > self.data.size),
        ];
        writes.into_iter().flatten().collect()
    }
}

fn foreign(layout: &Layout, why: &str) -> ToolError {
    ToolError::precondition(format!("the partition table is not that of the layout {}: {why}", layout.name))
        .hint("only the card of an image with this layout is grown; nothing was written")
}

/// Checks that the MBR matches the layout: three primary partitions in order, followed by the extended one.
fn primaries(mbr: &Sector, second: &Sector, layout: &Layout) -> Result<(), String> {
    let signature = u32::from_le_bytes([mbr.bytes[440], mbr.bytes[441], mbr.bytes[442], mbr.bytes[443]]);
    if !mbr.signed() || signature != layout.disk {
        return Err(format!("its signature is {signature:08x}, not {:08x}", layout.disk));
    }
    if (0..4).any(|index| mbr.entry(index).kind == GPT) || second.bytes.starts_with(b"EFI PART") {
        return Err("there is a GPT as well".into());
    }
    let mut end = layout.first_partition / SECTOR;
    for number in 1..=4_u8 {
        let entry = mbr.entry(usize::from(number) - 1);
        let right = match layout.number(number) {
            Some(wanted) => entry.kind == wanted.kind,
            None => number == 4 && EXTENDED.contains(&entry.kind),
        };
        if !right {
            return Err(format!("partition {number} has type {:02x}", entry.kind));
        }
        if entry.size == 0 || entry.start < end {
            return Err(format!("partition {number} begins at sector {}, before {end}", entry.start));
        }
        end = entry.start + entry.size;
    }
    Ok(())
}

/// The partition of a record, and the sector of the next record.
fn logical(
    record: &Sector,
    number: u8,
    extended: SectorRange,
    layout: &Layout,
) -> Result<(SectorRange, Option<u64>), String> {
    let (own, link) = (record.entry(0), record.entry(1));
    if !record.signed() || own.start == 0 || own.size == 0 {
        return Err(format!("sector {} is no record of partition {number}", record.at));
    }
    if (2..4).any(|index| record.entry(index).kind != 0) {
        return Err(format!("the record of partition {number} has more than two entries"));
    }
    let known = layout.number(number).map(|partition| partition.kind);
    let data = layout.data.filter(|data| data.number == number).map(|data| data.kind);
    if known.or(data) != Some(own.kind) {
        return Err(format!("partition {number} has type {:02x}", own.kind));
    }
    let span = SectorRange { start: record.at + own.start, size: own.size };
    if span.end() > extended.end() {
        return Err(format!("partition {number} reaches beyond the extended one"));
    }
    if link.kind == 0 {
        return Ok((span, None));
    }
    let next = extended.start + link.start;
    // Forwards only: a chain that goes back would not end, and its last partition might not be the last one on the
    // card.
    if !EXTENDED.contains(&link.kind) || next < span.end() || next >= extended.end() {
        return Err(format!("partition {number} leads to sector {next}"));
    }
    Ok((span, Some(next)))
}
