//! A model of a Raspberry Pi's bootloader: the one-shot flag, `autoboot.txt`, and the search through the partitions
//! without it.
//!
//! Omitted: networks and other disks in its boot order, and the content of a kernel. A partition counts as bootable
//! when it is a FAT with a `config.txt` whose kernel (`kernel=`, otherwise `kernel_2712.img` or `kernel8.img`) is
//! complete.

use super::{Outcome, Partition, Slot};
use crate::{
    boot::tryboot::Autoboot,
    disk::{Area, Disk, Layout},
};

const KERNELS: [&str; 2] = ["kernel_2712.img", "kernel8.img"];

/// Its behaviour when the partition to start is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Searches the partitions in order and takes the first that boots, as of 2025.
    Walks,
    /// Tries partition 1 instead, as of October 2022 (rpi-eeprom's release notes); ours has no firmware files.
    FallsBack,
}

/// One board's bootloader. The flag is in the chip, not on the card, so a power cut clears it.
#[derive(Clone, Debug)]
pub struct TrybootFirmware {
    pub layout: Layout,
    pub generation: Generation,
    /// Set by the mailbox, or by reboot(2)'s argument.
    pub flag: bool,
}

impl TrybootFirmware {
    pub fn new(layout: Layout, generation: Generation) -> Self {
        Self { layout, generation, flag: false }
    }

    /// A power cut: clears the flag.
    pub fn power_cut(&mut self) {
        self.flag = false;
    }

    /// A restart. Clears the flag first, so that the next one is ordinary in any case.
    pub fn boot(&mut self, disk: &dyn Disk) -> Outcome {
        let trial = std::mem::take(&mut self.flag);
        let mut reasons = Vec::new();
        let booted = |number: u8, reasons: &mut Vec<String>| match self.bootable(disk, number) {
            Ok(slot) => Some(Outcome::Booted { slot, trial, wrote: 0 }),
            Err(why) => {
                reasons.push(format!("partition {number}: {why}"));
                None
            }
        };
        match boot_partition(disk, trial) {
            Ok(number) => {
                if let Some(outcome) = booted(number, &mut reasons) {
                    return outcome;
                }
            }
            Err(why) => reasons.push(why),
        }
        let others = if self.generation == Generation::Walks { 1..=4 } else { 1..=1 };
        for number in others {
            if let Some(outcome) = booted(number, &mut reasons) {
                return outcome;
            }
        }
        Outcome::Nothing(reasons.join("; "))
    }

    /// The slot that starts from that partition, if it can start.
    fn bootable(&self, disk: &dyn Disk, number: u8) -> Result<Slot, String> {
        let area = self.layout.number(number).map(|partition| partition.area).ok_or("no such partition")?;
        let partition = Partition::open(disk, area)?;
        let config = partition.text("config.txt").ok_or("it has no config.txt")?;
        let kernel = config.lines().find_map(|line| line.trim().strip_prefix("kernel="));
        let loads = match kernel {
            Some(name) => partition.loads(name.trim()),
            None => KERNELS.iter().any(|name| partition.loads(name)),
        };
        if !loads {
            return Err(format!("it has no whole {}", kernel.unwrap_or(KERNELS[1])));
        }
        match area {
            Area::Boot(slot) => Ok(slot),
            _ => Err("its firmware files belong to no slot".into()),
        }
    }
}

/// The partition that autoboot.txt names.
fn boot_partition(disk: &dyn Disk, trial: bool) -> Result<u8, String> {
    let config = Partition::open(disk, Area::Config)?;
    let text = config.text("autoboot.txt").ok_or("partition 1 has no autoboot.txt")?;
    let autoboot = Autoboot::parse(text.as_bytes()).map_err(|why| format!("autoboot.txt: {why}"))?;
    Ok(autoboot.tryboot.filter(|_| trial && autoboot.a_b).unwrap_or(autoboot.all))
}
