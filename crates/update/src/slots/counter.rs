//! The count of boots that were never found healthy, kept by the initramfs, so that the fallback remains available
//! after the commit: one sector at byte 4096 of the agent-state area, in a form that a shell can write. Each boot puts
//! its slot's letter into the first zero byte; a healthy boot zeroes the sector. No checksum: a torn sector has too many
//! or too few letters, which only changes when the other slot is requested.

use crate::{
    Slot,
    disk::{Access, Area, Disk},
};
use base::error::ToolError;
use std::io;

/// Its offset in the area, in bytes.
pub const AT: u64 = 4096;
/// Its size in bytes. Boots beyond that are not counted.
pub const SIZE: usize = 512;

/// Boots that were not found healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unhealthy {
    pub a: u32,
    pub b: u32,
}

impl Unhealthy {
    fn of(sector: &[u8; SIZE]) -> Self {
        let count = |letter: u8| sector.iter().filter(|byte| **byte == letter).count() as u32;
        Self { a: count(b'A'), b: count(b'B') }
    }

    /// For people: slots that were started more than once since. One start is the running boot.
    pub fn faults(self) -> Vec<String> {
        let often = [(Slot::A, self.a), (Slot::B, self.b)].into_iter().filter(|(_, times)| *times > 1);
        often.map(|(slot, times)| format!("slot {slot} was started {times} times and not found healthy")).collect()
    }
}

/// Reads the initramfs' count.
///
/// # Errors
/// Those of the card.
pub fn read(disk: &dyn Disk) -> Result<Unhealthy, ToolError> {
    let mut sector = [0; SIZE];
    disk.open(Area::AgentState, Access::Read)?.read(AT, &mut sector).map_err(|error| failed(&error))?;
    Ok(Unhealthy::of(&sector))
}

/// Zeroes the count; writes nothing when it is zero already.
///
/// # Errors
/// Those of the card.
pub fn clear(disk: &dyn Disk) -> Result<(), ToolError> {
    let device = disk.open(Area::AgentState, Access::Shared)?;
    let mut sector = [0; SIZE];
    device.read(AT, &mut sector).map_err(|error| failed(&error))?;
    if sector == [0; SIZE] {
        return Ok(());
    }
    device.write(AT, &[0; SIZE]).and_then(|()| device.flush()).map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("the count of unhealthy boots: {error}"))
        .with("area", Area::AgentState.name())
        .hint("the card may be worn out: look at the kernel's log")
}
