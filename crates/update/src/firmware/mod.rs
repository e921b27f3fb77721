//! Models of the boot firmware: from a card's content they derive what the real firmware would boot, byte for byte.
//!
//! Used by the power-cut model, the simulated machine's restarts and the replay of a recorded update. Each model states
//! its omissions; `ci/qemu` compares the one of U-Boot with the real script.

mod tryboot;
mod uboot;

pub use tryboot::{Generation, TrybootFirmware};
pub use uboot::UbootFirmware;

use super::{
    Slot,
    boot::fat::Fat,
    disk::{Access, Area, BlockDevice, Disk},
};
use std::io;

/// The result of a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A kernel was started from this slot's boot files. Whether it is intact and finds its root is beyond the
    /// firmware.
    Booted {
        slot: Slot,
        /// The firmware's one-shot flag was set; always `false` with U-Boot, which has none.
        trial: bool,
        /// Number of writes by the firmware itself before.
        wrote: u32,
    },
    /// Nothing boots, however often it is tried; the reason, for people.
    Nothing(String),
}

impl Outcome {
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Self::Booted { slot, .. } => Some(*slot),
            Self::Nothing(_) => None,
        }
    }
}

/// A boot partition as the firmware sees it.
struct Partition {
    device: Box<dyn BlockDevice>,
    fat: Fat,
}

impl Partition {
    /// `Err` with the reason when nothing can be loaded from it.
    fn open(disk: &dyn Disk, area: Area) -> Result<Self, String> {
        let device = disk.open(area, Access::Read).map_err(|error| error.into_message())?;
        let fat = Fat::of(&*device).map_err(|fault| format!("{}: {fault}", area.name()))?;
        Ok(Self { device, fat })
    }

    /// Reads a small file; `None` when it is missing or unreadable.
    fn text(&self, name: &str) -> Option<String> {
        let read = || -> io::Result<Option<Vec<u8>>> {
            let Some(entry) = self.fat.find(&*self.device, name)? else { return Ok(None) };
            self.fat.text(&*self.device, &entry).map(Some)
        };
        read().ok().flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether a file is not empty, and all its clusters are present.
    fn loads(&self, name: &str) -> bool {
        let found = self.fat.find(&*self.device, name).ok().flatten();
        found.is_some_and(|entry| entry.size > 0 && self.fat.whole(&*self.device, &entry).is_ok())
    }

    /// The first bytes of a file that loads.
    fn start<const N: usize>(&self, name: &str) -> Option<[u8; N]> {
        let entry = self.fat.find(&*self.device, name).ok().flatten()?;
        self.fat.whole(&*self.device, &entry).ok()?;
        let at = entry.first_sector(&self.fat).ok()?;
        let mut start = [0; N];
        self.device.read(at, &mut start).ok()?;
        (entry.size as usize >= N).then_some(start)
    }
}
