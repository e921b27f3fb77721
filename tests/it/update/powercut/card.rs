//! A card in memory that tells flushes of one area from those of another. The kernel has a cache of its own for each partition: fdatasync(2) of
//! one leaves what was written to the others where it is.

use ::update::disk::{Access, Area, BlockDevice, Disk, MemoryDisk};
use base::error::ToolError;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
};

/// What happened to the card, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Write { area: Area, at: u64, bytes: Arc<[u8]> },
    Flush(Area),
}

/// Cheap to clone; clones are the same card.
#[derive(Clone)]
pub struct Card {
    disk: MemoryDisk,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Card {
    pub fn of(content: BTreeMap<Area, Vec<u8>>) -> Self {
        Self { disk: MemoryDisk::of(content), events: Arc::default() }
    }

    pub fn content(&self) -> BTreeMap<Area, Vec<u8>> {
        self.disk.content()
    }

    /// After `writes` more writes every further one fails.
    pub fn fail_after(&self, writes: usize) {
        self.disk.fail_after(writes, io::ErrorKind::Other);
    }

    /// Every write succeeds again.
    pub fn heals(&self) {
        self.fail_after(usize::MAX);
    }

    /// Everything since the last call, oldest first.
    pub fn take_events(&self) -> Vec<Event> {
        self.disk.take_events();
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

impl Disk for Card {
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        Ok(Box::new(Opened { device: self.disk.open(area, access)?, area, events: self.events.clone() }))
    }
}

struct Opened {
    device: Box<dyn BlockDevice>,
    area: Area,
    events: Arc<Mutex<Vec<Event>>>,
}

impl BlockDevice for Opened {
    fn size(&self) -> u64 {
        self.device.size()
    }
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.device.read(at, into)
    }
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.device.write(at, bytes)?;
        self.events.lock().unwrap().push(Event::Write { area: self.area, at, bytes: bytes.into() });
        Ok(())
    }
    fn flush(&self) -> io::Result<()> {
        self.events.lock().unwrap().push(Event::Flush(self.area));
        Ok(())
    }
    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.device.read_back(at, into)
    }
}
