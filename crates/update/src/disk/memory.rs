//! A disk in memory that records every write and flush, for the power-cut model and for fault injection.

use super::{Access, Area, BlockDevice, Disk, within};
use base::error::ToolError;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What happened to the disk, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Write {
        area: Area,
        at: u64,
        bytes: Arc<[u8]>,
    },
    /// Everything before it, in any area, is on the medium: a card has one cache.
    Flush,
}

/// Cheap to clone; clones are the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    areas: BTreeMap<Area, Vec<u8>>,
    events: Vec<Event>,
    /// Writes and flushes that still succeed; `None`: all.
    left: Option<(usize, io::ErrorKind)>,
}

impl MemoryDisk {
    /// A disk with areas full of zeros.
    pub fn new(areas: impl IntoIterator<Item = (Area, usize)>) -> Self {
        let areas = base::sort::map(areas.into_iter().map(|(area, size)| (area, vec![0; size])));
        Self(Arc::new(Mutex::new(Inner { areas, ..Inner::default() })))
    }

    /// A disk with that content.
    pub fn of(areas: BTreeMap<Area, Vec<u8>>) -> Self {
        Self(Arc::new(Mutex::new(Inner { areas, ..Inner::default() })))
    }

    /// The current content, as the machine sees it while it has power.
    pub fn content(&self) -> BTreeMap<Area, Vec<u8>> {
        self.lock().areas.clone()
    }

    /// Everything since the last call, oldest first.
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.lock().events)
    }

    /// After `writes` more writes or flushes every further one fails with `kind`.
    pub fn fail_after(&self, writes: usize, kind: io::ErrorKind) {
        self.lock().left = Some((writes, kind));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn spend(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some((0, kind)) => Err((*kind).into()),
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Disk for MemoryDisk {
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let size = self.lock().areas.get(&area).map(|bytes| bytes.len() as u64);
        let size = size.ok_or_else(|| ToolError::missing(format!("this disk has no {} area", area.name())))?;
        Ok(Box::new(Opened { disk: self.clone(), area, size, writable: access != Access::Read }))
    }
}

struct Opened {
    disk: MemoryDisk,
    area: Area,
    size: u64,
    writable: bool,
}

impl Opened {
    /// The range of `length` bytes from `at`, if it is inside.
    fn span(&self, at: u64, length: usize) -> io::Result<std::ops::Range<usize>> {
        within(self.size, at, length)?;
        Ok(at as usize..at as usize + length)
    }
}

impl BlockDevice for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let span = self.span(at, into.len())?;
        let inner = self.disk.lock();
        into.copy_from_slice(&inner.areas[&self.area][span]);
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let span = self.span(at, bytes.len())?;
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut inner = self.disk.lock();
        inner.spend()?;
        if let Some(area) = inner.areas.get_mut(&self.area) {
            area[span].copy_from_slice(bytes);
        }
        inner.events.push(Event::Write { area: self.area, at, bytes: bytes.into() });
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut inner = self.disk.lock();
        inner.spend()?;
        inner.events.push(Event::Flush);
        Ok(())
    }

    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read(at, into)
    }
}
