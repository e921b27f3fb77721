//! A recording of every write and flush, as QEMU's blklogwrites and the kernel's dm-log-writes make it
//! (Documentation/admin-guide/device-mapper/log-writes.rst; numbers are little-endian).

use std::io::{self, Read, Seek, SeekFrom};

/// A magic number and a version; then the number of entries and the bytes of a sector of the log.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
/// Flags of an entry.
const FLUSH: u64 = 1;
const FUA: u64 = 1 << 1;
const DISCARD: u64 = 1 << 2;
const MARK: u64 = 1 << 3;
/// No single write of a guest is larger.
const LARGEST: u64 = 64 << 20;

/// One thing that happened to the disk.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Everything that was written before is on the medium.
    Flush,
    Write {
        /// Bytes from the start of the disk.
        at: u64,
        bytes: Vec<u8>,
        /// On the medium once it is done, whatever becomes of what was written before it.
        durable: bool,
    },
    /// What is there is not wanted any more: it may read as anything, here as zeros.
    Discard { at: u64, length: u64 },
}

/// A recording, read from its start.
pub struct Log<R> {
    from: R,
    sector: u64,
    left: u64,
    /// An entry that is a flush and a write is two events.
    next: Option<Event>,
}

fn bad(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

impl<R: Read + Seek> Log<R> {
    /// # Errors
    /// Those of reading; `InvalidData` when it is no such recording.
    pub fn of(mut from: R) -> io::Result<Self> {
        let mut head = [0; 28];
        from.read_exact(&mut head)?;
        let number = |at| word(&head, at);
        let sector = u64::from(u32::from_le_bytes([head[24], head[25], head[26], head[27]]));
        if number(0) != MAGIC || number(8) != VERSION {
            return Err(bad("this is no log of writes".into()));
        }
        if !sector.is_power_of_two() || !(512..=4096).contains(&sector) {
            return Err(bad(format!("sectors of {sector} bytes")));
        }
        from.seek(SeekFrom::Start(sector))?;
        Ok(Self { from, sector, left: number(16), next: None })
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// Those of reading: a recording that ends before its last event is cut off.
    pub fn event(&mut self) -> io::Result<Option<Event>> {
        if let Some(event) = self.next.take() {
            return Ok(Some(event));
        }
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            self.left -= 1;
            let mut head = vec![0; usize::try_from(self.sector).map_err(|_| bad("sector".into()))?];
            self.from.read_exact(&mut head)?;
            let number = |at| word(&head, at);
            let (sector, sectors, flags) = (number(0), number(8), number(16));
            let at = sector.checked_mul(self.sector).ok_or_else(|| bad(format!("sector {sector}")))?;
            let length = sectors.checked_mul(self.sector).ok_or_else(|| bad(format!("{sectors} sectors")))?;
            if flags & MARK != 0 {
                continue;
            }
            let event = if flags & DISCARD != 0 {
                Some(Event::Discard { at, length })
            } else if length > 0 {
                if length > LARGEST {
                    return Err(bad(format!("a write of {length} bytes")));
                }
                let mut bytes = vec![0; usize::try_from(length).map_err(|_| bad("length".into()))?];
                self.from.read_exact(&mut bytes)?;
                Some(Event::Write { at, bytes, durable: flags & FUA != 0 })
            } else {
                None
            };
            if flags & FLUSH != 0 {
                // The flush comes before what is written with it.
                self.next = event;
                return Ok(Some(Event::Flush));
            }
            if event.is_some() {
                return Ok(event);
            }
        }
    }
}
