//! What the initramfs counts for the agent, in a form that a shell can write: one sector for each count in the first
//! quarter of the agent-state area. Each time, the slot's letter goes into the first zero byte; a full sector begins
//! anew. No checksum: a torn sector has too many or too few letters, which only changes when the other slot is
//! requested or a root is read as a whole.

use crate::{
    Slot,
    disk::{Access, Area, BlockDevice, Disk},
};
use base::error::ToolError;
use std::io;

/// The size of each count, in bytes.
pub const SIZE: usize = 512;

/// A count that the initramfs keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Boots that were never found healthy, so that the fallback remains available after the commit. A healthy boot
    /// zeroes it.
    UnhealthyBoots,
    /// Starts, healthy or not: every third one reads the whole root. Zeroed when the machine has run for days.
    Starts,
    /// Starts that found their root damaged.
    Damage,
}

/// The value of a [`Counter`] for each slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub a: u32,
    pub b: u32,
}

impl Counted {
    fn of_sector(sector: &[u8; SIZE]) -> Self {
        let count = |letter: u8| sector.iter().filter(|byte| **byte == letter).count() as u32;
        Self { a: count(b'A'), b: count(b'B') }
    }

    pub const fn of(self, slot: Slot) -> u32 {
        match slot {
            Slot::A => self.a,
            Slot::B => self.b,
        }
    }
}

impl Counter {
    /// Its offset in the area, in bytes.
    pub const fn at(self) -> u64 {
        match self {
            Self::UnhealthyBoots => 4096,
            Self::Starts => 12288,
            Self::Damage => 16384,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::UnhealthyBoots => "unhealthy boots",
            Self::Starts => "starts",
            Self::Damage => "damaged roots",
        }
    }

    /// Reads the count of both slots.
    ///
    /// # Errors
    /// Those of the card.
    pub fn read(self, disk: &dyn Disk) -> Result<Counted, ToolError> {
        self.read_from(&*disk.open(Area::AgentState, Access::Read)?)
    }

    /// The same from the open agent-state area, as [`super::StateStore::read_from`].
    ///
    /// # Errors
    /// Those of the card.
    pub fn read_from(self, device: &dyn BlockDevice) -> Result<Counted, ToolError> {
        let mut sector = [0; SIZE];
        device.read(self.at(), &mut sector).map_err(|error| self.failed(&error))?;
        Ok(Counted::of_sector(&sector))
    }

    /// Zeroes the count; writes nothing when it is zero already.
    ///
    /// # Errors
    /// Those of the card.
    pub fn clear(self, disk: &dyn Disk) -> Result<(), ToolError> {
        self.keep(disk, |_| false)
    }

    /// Removes the letters of one slot; writes nothing when there are none.
    ///
    /// # Errors
    /// Those of the card.
    pub fn clear_of(self, disk: &dyn Disk, slot: Slot) -> Result<(), ToolError> {
        if self.read(disk)?.of(slot) == 0 {
            return Ok(());
        }
        let other = slot.other().name().as_bytes()[0];
        self.keep(disk, |byte| byte == other)
    }

    fn keep(self, disk: &dyn Disk, keeps: impl Fn(u8) -> bool) -> Result<(), ToolError> {
        let device = disk.open(Area::AgentState, Access::Shared)?;
        let (mut sector, mut next) = ([0; SIZE], [0; SIZE]);
        device.read(self.at(), &mut sector).map_err(|error| self.failed(&error))?;
        let kept = sector.into_iter().filter(|byte| keeps(*byte));
        next.iter_mut().zip(kept).for_each(|(place, byte)| *place = byte);
        if sector == next {
            return Ok(());
        }
        device.write(self.at(), &next).and_then(|()| device.flush()).map_err(|error| self.failed(&error))
    }

    fn failed(self, error: &io::Error) -> ToolError {
        ToolError::unavailable(format!("the count of {}: {error}", self.name()))
            .with("area", Area::AgentState.name())
            .hint("the card may be worn out: look at the kernel's log")
    }
}

/// For people: slots that were started more than once since a boot was healthy. One start is the running boot.
pub fn unhealthy_faults(counted: Counted) -> Vec<String> {
    let often = Slot::BOTH.into_iter().map(|slot| (slot, counted.of(slot))).filter(|(_, times)| *times > 1);
    often.map(|(slot, times)| format!("slot {slot} was started {times} times and not found healthy")).collect()
}
