//! Boot flows: the FAT they read, the files and sectors they change, the evidence they give.

mod choose;
mod custom;
mod failing;
mod fat;
mod machine;
mod simulated;
mod tryboot;
mod uboot;

use ::update::{
    Slot,
    boot::{BootWitness, Seen},
    disk::{Access, Area, Disk, Layout, MemoryDisk},
    simulated::{areas, boot_image, factory},
};
use std::sync::{Arc, Mutex};

pub const BOOT: usize = 64 << 10;
pub const ROOT: usize = 4 << 10;

pub fn layout() -> Layout {
    Layout::shipped().unwrap()
}

/// A card from the factory, in memory.
pub fn card() -> MemoryDisk {
    let mut sizes = areas(BOOT as u64, ROOT as u64);
    sizes[5].1 = 128 << 10;
    let disk = MemoryDisk::new(sizes.map(|(area, size)| (area, size as usize)));
    factory(&disk, &layout(), &boot_image(BOOT, "1.0.0").unwrap(), &[1; ROOT]).unwrap();
    disk.take_events();
    disk
}

pub fn read(disk: &dyn Disk, area: Area) -> Vec<u8> {
    let device = disk.open(area, Access::Read).unwrap();
    let mut bytes = vec![0; device.size() as usize];
    device.read(0, &mut bytes).unwrap();
    bytes
}

pub fn write(disk: &dyn Disk, area: Area, at: u64, bytes: &[u8]) {
    disk.open(area, Access::Shared).unwrap().write(at, bytes).unwrap();
}

/// What the test says was seen.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Seen>>);

impl Told {
    pub fn running(slot: Slot) -> Self {
        let told = Self::default();
        told.say(|seen| (seen.booted, seen.root) = (Some(slot), Some(slot)));
        told
    }

    pub fn say(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.0.lock().unwrap());
    }
}

impl BootWitness for Told {
    fn seen(&self) -> Seen {
        self.0.lock().unwrap().clone()
    }
}
