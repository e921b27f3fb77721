//! This machine as a witness: the firmware's device tree on a Raspberry Pi, the kernel's command line, the mounted
//! root.

use super::{BootWitness, Seen, Slot};
use crate::disk::{BOOTLOADER, Layout, cell, real::root_slot};
use base::os::{Root, command_line::argument, pstore, reset};

/// Bit 2 of `capabilities`: TRYBOOT_A_B.
const CAN_TRY: u32 = 1 << 2;

/// Bytes kept of each of the kernel's crash messages: the end, with its call trace.
const WORDS: usize = 4096;

/// The source that says which slot's boot files were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The firmware of a Raspberry Pi, in the device tree.
    DeviceTree,
    /// `raspi_mcp.slot=` on the kernel's command line, set by boot.cmd.
    CommandLine,
}

/// This machine.
#[derive(Clone, Debug)]
pub struct BootMachine {
    root: Root,
    layout: Layout,
    by: By,
}

impl BootMachine {
    pub fn new(root: Root, layout: Layout, by: By) -> Self {
        Self { root, layout, by }
    }

    /// `root`: the slot whose root is mounted.
    fn by_device_tree(&self, seen: &mut Seen, root: Option<Slot>) {
        match cell(&self.root, "tryboot") {
            Ok(flag) => seen.trial = flag.map(|flag| flag != 0),
            Err(fault) => seen.faults.push(fault.to_string()),
        }
        match cell(&self.root, "partition") {
            // The bootloader of a Raspberry Pi 5 from before 2024-05-13, where autoboot.txt chose the partition. The
            // initramfs then read that file, and mounted the root of its slot.
            Ok(Some(0)) => seen.booted = root,
            Ok(Some(number)) => {
                seen.booted = u8::try_from(number).ok().and_then(|number| self.layout.boots(number));
                if seen.booted.is_none() {
                    seen.faults.push(format!("the firmware booted partition {number}, which is no slot"));
                }
            }
            Ok(None) => seen.faults.push(format!("/{BOOTLOADER} does not say which partition was booted")),
            Err(fault) => seen.faults.push(fault.to_string()),
        }
        seen.bootloader_built = cell(&self.root, "build-timestamp").ok().flatten().map(u64::from);
        let able = cell(&self.root, "capabilities").ok().flatten();
        seen.can_try = able.map(|able| able & CAN_TRY != 0);
    }

    fn by_command_line(&self, seen: &mut Seen) {
        let told = argument(&self.root, "raspi_mcp.slot");
        seen.booted = Slot::BOTH.into_iter().find(|slot| told.as_deref() == Some(slot.name()));
        if seen.booted.is_none() {
            let told = told.map_or("no raspi_mcp.slot=".to_owned(), |told| format!("raspi_mcp.slot={told:.32}"));
            seen.faults.push(format!("/proc/cmdline has {told}: boot.cmd did not start this system"));
        }
    }
}

impl BootWitness for BootMachine {
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        let root = root_slot(&self.root, &self.layout);
        match self.by {
            By::DeviceTree => self.by_device_tree(&mut seen, root.as_ref().ok().copied()),
            By::CommandLine => self.by_command_line(&mut seen),
        }
        match root {
            Ok(slot) => seen.root = Some(slot),
            Err(why) => seen.faults.push(why),
        }
        seen.boot_id =
            self.root.line("proc/sys/kernel/random/boot_id").map_err(|fault| seen.faults.push(fault.to_string())).ok();
        match reset::read(&self.root) {
            Ok(told) => seen.reset = told.map(|told| told.cause),
            Err(fault) => seen.faults.push(fault.to_string()),
        }
        seen.last_words = pstore::last_words(&self.root, WORDS);
        seen
    }
}

/// Whether this board boots by tryboot: its firmware reports the partition it booted, and its kind.
pub fn has_tryboot(root: &Root) -> bool {
    cell(root, "tryboot").ok().flatten().is_some()
}
