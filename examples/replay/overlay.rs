//! A disk image with changes on top that can be taken back, and the knowledge which of its areas are whole.

use base::error::ToolError;
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use update::{
    Slot,
    disk::{Access, Area, BlockDevice, Disk, Layout},
};

pub const SECTOR: usize = 512;
type Sector = [u8; SECTOR];

/// The areas whose content decides whether a slot is whole.
pub const WHOLE: [Area; 4] = [Area::Boot(Slot::A), Area::Root(Slot::A), Area::Boot(Slot::B), Area::Root(Slot::B)];

/// Cheap to clone; clones are the same disk.
#[derive(Clone)]
pub struct Overlay(Arc<Mutex<Inner>>);

struct Inner {
    base: File,
    changed: HashMap<u64, Sector>,
    /// What was there before each change since the last [`Overlay::settle`].
    undo: Vec<(u64, Sector)>,
    areas: BTreeMap<Area, (u64, u64)>,
    known: Vec<Known>,
}

/// An image that an area may hold, and in how many sectors it does not.
struct Known {
    area: Area,
    version: String,
    /// Where it begins in `content`, and its bytes.
    content: File,
    from: u64,
    length: u64,
    differ: u64,
}

impl Known {
    fn sector(&self, at: u64) -> io::Result<Option<Sector>> {
        let mut sector = [0; SECTOR];
        if at >= self.length {
            return Ok(None);
        }
        let part = (self.length - at).min(SECTOR as u64) as usize;
        self.content.read_exact_at(&mut sector[..part], self.from + at)?;
        Ok(Some(sector))
    }
}

fn bad(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

impl Overlay {
    /// The image as it was before the recording. What its slots hold then counts as the version `before`.
    pub fn of(path: &Path, layout: &Layout) -> io::Result<Self> {
        let base = File::open(path)?;
        let areas = areas(&base, layout)?;
        let mut known = Vec::new();
        for area in WHOLE {
            let (from, length) = areas[&area];
            known.push(Known { area, version: "before".into(), content: File::open(path)?, from, length, differ: 0 });
        }
        let inner = Inner { base, changed: HashMap::new(), undo: Vec::new(), areas, known };
        Ok(Self(Arc::new(Mutex::new(inner))))
    }

    /// Makes known what an area holds as that version.
    pub fn know(&self, area: Area, version: &str, image: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        let content = File::open(image)?;
        let length = content.metadata()?.len();
        let (from, size) = inner.areas[&area];
        if length > size {
            return Err(bad(format!("{} has {length} bytes, {} has {size}", image.display(), area.name())));
        }
        let mut known = Known { area, version: version.to_owned(), content, from: 0, length, differ: 0 };
        for at in (0..length).step_by(SECTOR) {
            let now = inner.sector((from + at) / SECTOR as u64)?;
            known.differ += u64::from(differs(&known, at, &now)?);
        }
        inner.known.push(known);
        Ok(())
    }

    /// The version that is whole in this slot, boot files and root, if there is one.
    pub fn whole(&self, slot: Slot) -> Option<String> {
        let inner = self.lock();
        let whole = |area| inner.known.iter().filter(move |known| known.area == area && known.differ == 0);
        let root: Vec<&str> = whole(Area::Root(slot)).map(|known| known.version.as_str()).collect();
        whole(Area::Boot(slot)).map(|known| known.version.clone()).find(|version| root.contains(&version.as_str()))
    }

    /// Whether any of that is in an area of the layout.
    pub fn matters(&self, at: u64, length: u64) -> bool {
        let end = at.saturating_add(length);
        self.lock().areas.values().any(|(from, size)| at < from + size && *from < end)
    }

    /// Writes whole sectors at a byte of the disk.
    pub fn put(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.lock();
        let (sectors, []) = bytes.as_chunks::<SECTOR>() else { return Err(bad("no whole sectors")) };
        if !at.is_multiple_of(SECTOR as u64) {
            return Err(bad(format!("byte {at} begins no sector")));
        }
        for (number, sector) in (at / SECTOR as u64..).zip(sectors) {
            let before = inner.replace(number, sector)?;
            inner.undo.push((number, before));
        }
        Ok(())
    }

    /// A point to come back to.
    pub fn mark(&self) -> usize {
        self.lock().undo.len()
    }

    /// Takes back all that was written since.
    pub fn back_to(&self, mark: usize) -> io::Result<()> {
        let mut inner = self.lock();
        while inner.undo.len() > mark {
            let Some((number, before)) = inner.undo.pop() else { break };
            inner.replace(number, &before)?;
        }
        Ok(())
    }

    /// What was written stays: there is nothing to come back to any more.
    pub fn settle(&self) {
        self.lock().undo.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn differs(known: &Known, at: u64, now: &Sector) -> io::Result<bool> {
    let part = known.length.saturating_sub(at).min(SECTOR as u64) as usize;
    Ok(known.sector(at)?.is_some_and(|wanted| wanted[..part] != now[..part]))
}

impl Inner {
    fn sector(&self, number: u64) -> io::Result<Sector> {
        if let Some(sector) = self.changed.get(&number) {
            return Ok(*sector);
        }
        let mut sector = [0; SECTOR];
        self.base.read_exact_at(&mut sector, number * SECTOR as u64)?;
        Ok(sector)
    }

    fn replace(&mut self, number: u64, new: &Sector) -> io::Result<Sector> {
        let before = self.sector(number)?;
        if before != *new {
            let at = number * SECTOR as u64;
            for known in &mut self.known {
                let (from, size) = self.areas[&known.area];
                let Some(inside) = at.checked_sub(from).filter(|inside| *inside < size) else { continue };
                let (was, is) = (differs(known, inside, &before)?, differs(known, inside, new)?);
                known.differ = known.differ + u64::from(is) - u64::from(was);
            }
            self.changed.insert(number, *new);
        }
        Ok(before)
    }
}

/// Place and bytes of every area, by the partition table and its chain of extended partitions.
fn areas(base: &File, layout: &Layout) -> io::Result<BTreeMap<Area, (u64, u64)>> {
    let table = |at: u64| -> io::Result<Vec<(u8, u64, u64)>> {
        let mut sector = [0; SECTOR];
        base.read_exact_at(&mut sector, at)?;
        if sector[510..] != [0x55, 0xaa] {
            return Err(bad(format!("no partition table at byte {at}")));
        }
        let word =
            |at: usize| u64::from(u32::from_le_bytes([sector[at], sector[at + 1], sector[at + 2], sector[at + 3]]));
        let entry = |n: usize| (sector[446 + 16 * n + 4], word(446 + 16 * n + 8), word(446 + 16 * n + 12));
        Ok((0..4).map(entry).collect())
    };
    let extended = |kind: u8| matches!(kind, 0x05 | 0x0f | 0x85);
    let sector = SECTOR as u64;
    let mut parts = BTreeMap::new();
    let mut chain = None;
    for (number, (kind, start, size)) in (1..).zip(table(0)?) {
        if extended(kind) {
            chain = Some(start);
        }
        parts.insert(number, (start * sector, size * sector));
    }
    let first = chain.unwrap_or_default();
    for number in 5..=15_u8 {
        let Some(at) = chain else { break };
        let entries = table(at * sector)?;
        parts.insert(number, ((at + entries[0].1) * sector, entries[0].2 * sector));
        chain = Some(entries[1]).filter(|(kind, ..)| extended(*kind)).map(|(_, start, _)| first + start);
    }
    let mut areas = BTreeMap::new();
    for partition in layout.partitions() {
        let span = parts.get(&partition.number).filter(|(_, size)| *size > 0);
        let span = span.ok_or_else(|| bad(format!("the image has no partition {}", partition.number)))?;
        areas.insert(partition.area, *span);
    }
    for (copy, at) in (0..).zip(layout.uboot_state) {
        areas.insert(Area::UbootCopy(copy), (at, sector));
    }
    Ok(areas)
}

impl Disk for Overlay {
    fn open(&self, area: Area, _: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let span = self.lock().areas.get(&area).copied();
        let (from, size) = span.ok_or_else(|| ToolError::missing(format!("no {} area", area.name())))?;
        Ok(Box::new(Opened { disk: self.clone(), from, size }))
    }
}

struct Opened {
    disk: Overlay,
    from: u64,
    size: u64,
}

impl BlockDevice for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        if at.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let inner = self.disk.lock();
        let mut done = 0;
        while done < into.len() {
            let place = self.from + at + done as u64;
            let inside = (place % SECTOR as u64) as usize;
            let part = (into.len() - done).min(SECTOR - inside);
            let sector = inner.sector(place / SECTOR as u64)?;
            into[done..done + part].copy_from_slice(&sector[inside..inside + part]);
            done += part;
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.disk.put(self.from + at, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read(at, into)
    }
}
