//! Raspberry Pi 4 and newer: `autoboot.txt` on partition 1 names the partition to start, and the one that the one-shot
//! flag "tryboot" starts (Raspberry Pi documentation, "Fail-safe OS updates").
//!
//! The file is changed in place, in its one sector: no allocation, no rename, no other write to the FAT.

mod autoboot;
mod restore;

pub use autoboot::{Autoboot, canonical};
pub use restore::restore;

use super::{
    BootFlow, BootWitness, Evidence, Slot,
    fat::{DirectoryEntry, Fat},
};
use crate::disk::{Access, Area, BlockDevice, Disk, Layout};
use base::error::{ErrorCode, ToolError};
use std::{io, path::PathBuf, sync::Arc};

const FILE: &str = "autoboot.txt";
const SECTOR: usize = 512;
/// `RPI_FIRMWARE_SET_REBOOT_FLAGS` of Raspberry Pi's include/soc/bcm2835/raspberrypi-firmware.h; bit 0 is tryboot.
pub const SET_REBOOT_FLAGS: u32 = 0x0003_8064;
/// The argument of reboot(2) where the flag cannot be set separately: partition 0 means the one that autoboot.txt
/// names.
const ARGUMENT: &str = "0 tryboot";

/// Sets or clears the firmware's one-shot flag, through the mailbox at `/dev/vcio`.
pub type TrybootFlag = Arc<dyn Fn(bool) -> io::Result<()> + Send + Sync>;

/// The flow of boards with tryboot.
pub struct Tryboot {
    disk: Arc<dyn Disk>,
    layout: Layout,
    witness: Arc<dyn BootWitness>,
    flag: Option<TrybootFlag>,
    template: Option<PathBuf>,
}

impl Tryboot {
    /// `flag`: where the kernel has a mailbox; otherwise the restart needs the argument.
    pub fn new(disk: Arc<dyn Disk>, layout: Layout, witness: Arc<dyn BootWitness>, flag: Option<TrybootFlag>) -> Self {
        Self { disk, layout, witness, flag, template: None }
    }

    /// With an image of partition 1, from which it is restored when it cannot be read ([`restore`]).
    #[must_use]
    pub fn with_template(mut self, template: Option<PathBuf>) -> Self {
        self.template = template;
        self
    }

    fn number(&self, slot: Slot) -> Result<u8, ToolError> {
        self.layout.boot_number(slot).ok_or_else(|| ToolError::internal("a layout without boot partitions"))
    }

    fn read(&self) -> Result<Autoboot, Fault> {
        let device = self.disk.open(Area::Config, Access::Read)?;
        let (_, sector, length) = place(&*device)?;
        Autoboot::parse(&sector[..length]).map_err(Fault::Content)
    }

    /// Writes both numbers into the file, unless they are there already.
    fn write(&self, all: Slot, tryboot: Slot) -> Result<(), Fault> {
        let (all, tryboot) = (self.number(all)?, self.number(tryboot)?);
        let device = self.disk.open(Area::Config, Access::Shared)?;
        let (at, mut sector, length) = place(&*device)?;
        let new = Autoboot::rewrite(&sector[..length], all, tryboot).map_err(Fault::Content)?;
        if new == sector[..length] {
            return Ok(());
        }
        sector[..length].copy_from_slice(&new);
        let mut back = [0; SECTOR];
        let done =
            device.write(at, &sector).and_then(|()| device.flush()).and_then(|()| device.read_back(at, &mut back));
        done.map_err(|fault| Fault::Other(card(&fault)))?;
        if back == sector {
            return Ok(());
        }
        let lost = format!("the sector of {FILE} was written and reads back differently");
        Err(ToolError::new(ErrorCode::VerificationFailed, lost).hint("the card is failing: replace it").into())
    }

    fn tell(&self, on: bool) -> Result<(), ToolError> {
        let Some(flag) = &self.flag else { return Ok(()) };
        flag(on).map_err(|fault| {
            ToolError::unavailable(format!("the firmware does not take the tryboot flag: {fault}"))
                .hint("update the bootloader: rpi-eeprom-update says whether there is a newer one")
        })
    }
}

/// Offset and content of the file's sector, and the length of the file in it.
fn place(device: &dyn BlockDevice) -> Result<(u64, [u8; SECTOR], usize), Fault> {
    let find = || -> io::Result<Option<(Fat, DirectoryEntry)>> {
        let fat = Fat::of(device)?;
        Ok(fat.find(device, FILE)?.map(|entry| (fat, entry)))
    };
    let wrap = |fault: io::Error| match fault.kind() {
        io::ErrorKind::InvalidData => Fault::Content(fault.to_string()),
        _ => Fault::Other(card(&fault)),
    };
    let (fat, entry) = find().map_err(wrap)?.ok_or_else(|| Fault::Content("it is not there".into()))?;
    let length = usize::try_from(entry.size).ok().filter(|length| *length <= SECTOR);
    let length =
        length.ok_or_else(|| Fault::Content(format!("it has {} bytes, one sector has {SECTOR}", entry.size)))?;
    let at = entry.first_sector(&fat).map_err(wrap)?;
    let mut sector = [0; SECTOR];
    device.read(at, &mut sector).map_err(wrap)?;
    Ok((at, sector, length))
}

/// Why the file cannot be read or written.
enum Fault {
    /// The content is wrong: restoring from the template helps.
    Content(String),
    Other(ToolError),
}

impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        Self::Other(error)
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Other(error) => error,
            Fault::Content(why) => {
                Self::precondition(format!("{FILE} on partition 1 cannot be changed: {why}")).with("file", FILE).hint(
                    "put an image of partition 1 where the layout's config_template says, and it is restored from there",
                )
            }
        }
    }
}

fn card(fault: &io::Error) -> ToolError {
    ToolError::unavailable(format!("partition 1 cannot be read or written: {fault}"))
        .with("area", Area::Config.name())
        .hint("the card may be failing, or read-only: logs on the device say more")
}

impl BootFlow for Tryboot {
    fn name(&self) -> &'static str {
        "tryboot"
    }

    fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::from(self.witness.seen());
        match self.read() {
            Ok(autoboot) => {
                evidence.default = self.layout.boots(autoboot.all);
                if evidence.default.is_none() {
                    evidence.faults.push(format!("{FILE}: partition {} is no slot", autoboot.all));
                }
                if !autoboot.a_b {
                    evidence.faults.push(format!("{FILE}: tryboot_a_b is not 1, so no slot can be tried"));
                }
                let tried = autoboot.tryboot.filter(|number| autoboot.a_b && *number != autoboot.all);
                evidence.armed = tried.and_then(|number| self.layout.boots(number));
            }
            Err(Fault::Content(why)) => evidence.faults.push(format!("{FILE}: {why}")),
            Err(Fault::Other(error)) => evidence.faults.push(error.into_message()),
        }
        evidence
    }

    fn arm(&self, target: Slot) -> Result<(), ToolError> {
        let seen = self.witness.seen();
        if seen.can_try == Some(false) {
            return Err(ToolError::precondition("this bootloader cannot try another partition (TRYBOOT_A_B)")
                .hint("update the bootloader to one of October 2022 or newer: rpi-eeprom-update"));
        }
        let default = self.layout.boots(self.read()?.all);
        if default.is_none() || default != seen.booted || default == Some(target) {
            let name = |slot: Option<Slot>| slot.map_or("none that is known", Slot::name);
            return Err(ToolError::precondition(format!(
                "slot {target} cannot be tried: {FILE} starts slot {}, running is slot {}",
                name(default),
                name(seen.booted)
            ))
            .hint("only the slot that does not run can be tried, and only from the slot that is the default"));
        }
        self.write(target.other(), target)?;
        self.tell(true)
    }

    fn disarm(&self) -> Result<(), ToolError> {
        self.tell(false)
    }

    fn commit(&self, slot: Slot) -> Result<(), ToolError> {
        match (self.write(slot, slot.other()), &self.template) {
            (Err(Fault::Content(_)), Some(template)) => {
                let text = canonical(self.number(slot)?, self.number(slot.other())?);
                restore(&*self.disk, template, &text)
            }
            (done, _) => Ok(done?),
        }
    }

    fn trial_argument(&self) -> Option<&str> {
        // The kernel does not clear a flag that was set before the restart.
        self.flag.is_none().then_some(ARGUMENT)
    }

    fn bootloader_built(&self) -> Option<u64> {
        self.witness.seen().bootloader_built
    }
}
