//! A model of U-Boot with `dist/boot/boot.cmd`, step by step, including its writes.
//!
//! `env import` and `test -gt` as in U-Boot 2023.01: a copy is valid by its checksum alone, numbers are signed, only
//! the named variables are taken, and missing ones keep their values. Omitted: what a kernel does after `booti` (for a
//! machine that hangs or panics, the caller restarts the model), compressed kernels, and loads that fail although the
//! chain of clusters is intact.

use super::{Outcome, Partition, Slot};
use crate::{
    boot::uboot::{COPY, crc32, variables},
    disk::{Access, Area, Disk},
};
use std::collections::BTreeMap;

/// `ab_names` of the script.
const NAMES: [&str; 4] = ["ab_left_A", "ab_left_B", "ab_order", "ab_seq"];
/// For booti: "ARM\x64" at byte 56 of an arm64 kernel (the kernel's Documentation/arch/arm64/booting.rst).
const MAGIC: (usize, &[u8]) = (56, b"ARM\x64");
/// After this many rounds in which neither slot loads, no later one will succeed.
const ROUNDS: u32 = 3;

/// The script. All its state is on the card.
#[derive(Clone, Copy, Debug, Default)]
pub struct UbootFirmware;

/// U-Boot's variables.
type Env = BTreeMap<&'static str, String>;

struct Run<'a> {
    disk: &'a dyn Disk,
    env: Env,
    older: u8,
    wrote: u32,
}

impl UbootFirmware {
    /// A restart.
    pub fn boot(self, disk: &dyn Disk) -> Outcome {
        let mut wrote = 0;
        for _ in 0..ROUNDS {
            let mut run = Run { disk, env: Env::new(), older: 1, wrote };
            if let Some(slot) = run.script() {
                return Outcome::Booted { slot, trial: false, wrote: run.wrote };
            }
            wrote = run.wrote;
        }
        Outcome::Nothing("no slot loads, and U-Boot starts over and over".into())
    }
}

impl Run<'_> {
    /// `None`: it reached its `reset`.
    fn script(&mut self) -> Option<Slot> {
        self.load_state();
        let order: Vec<String> = self.get("ab_order").split_whitespace().map(str::to_owned).collect();
        for word in order {
            // As in the script: anything but A takes the other branch.
            let slot = if word == "A" { Slot::A } else { Slot::B };
            let counter = if slot == Slot::A { "ab_left_A" } else { "ab_left_B" };
            let left = number(&self.get(counter));
            if left <= 0 {
                continue;
            }
            // `setenv ab_left_${slot}` uses the value as a name: with an unknown one, that variable is not among those
            // saved.
            let counted = NAMES.into_iter().find(|name| name.strip_prefix("ab_left_") == Some(word.as_str()));
            self.count(counted, left - 1);
            if self.starts(slot) {
                return Some(slot);
            }
            self.count(counted, 0);
        }
        self.env.extend([("ab_order", "A B".into()), ("ab_left_A", "3".into()), ("ab_left_B", "3".into())]);
        self.save();
        None
    }

    fn get(&self, name: &str) -> String {
        self.env.get(name).cloned().unwrap_or_default()
    }

    /// Loads the newer copy with a valid checksum, or the defaults.
    fn load_state(&mut self) {
        let copies = [0, 1].map(|copy| self.read(copy));
        let (mut newest, mut holds) = (0, None);
        for (place, copy) in copies.iter().enumerate() {
            let Some(copy) = copy else { continue };
            let seq = imported(copy, "ab_seq").map_or(0, number);
            if seq > newest {
                (newest, holds) = (seq, Some((place, copy)));
            }
        }
        let defaults = [("ab_order", "A B"), ("ab_left_A", "3"), ("ab_left_B", "3"), ("ab_seq", "0")];
        self.env.extend(defaults.map(|(name, value)| (name, value.to_owned())));
        if let Some((place, copy)) = holds {
            self.older = if place == 1 { 0 } else { 1 };
            for name in NAMES {
                match imported(copy, name) {
                    // An empty value deletes the variable.
                    Some("") => drop(self.env.remove(name)),
                    Some(value) => drop(self.env.insert(name, value.to_owned())),
                    None => {}
                }
            }
        }
    }

    fn read(&self, copy: u8) -> Option<[u8; COPY]> {
        let mut bytes = [0; COPY];
        let device = self.disk.open(Area::UbootCopy(copy), Access::Read).ok()?;
        device.read(0, &mut bytes).ok()?;
        variables(&bytes).is_some().then_some(bytes)
    }

    fn count(&mut self, counter: Option<&'static str>, left: i64) {
        if let Some(name) = counter {
            self.env.insert(name, format!("{left:x}"));
        }
        self.save();
    }

    /// `ab_save`: a failed write is not reported, and the copies are not swapped.
    fn save(&mut self) {
        let next = number(&self.get("ab_seq")).wrapping_add(1);
        self.env.insert("ab_seq", format!("{next:x}"));
        let mut text = String::new();
        for (name, value) in NAMES.iter().filter_map(|name| Some((name, self.env.get(name)?))) {
            text += &format!("{name}={value}\0");
        }
        let mut copy = [0; COPY];
        let Some(place) = copy.get_mut(4..4 + text.len()) else { return };
        place.copy_from_slice(text.as_bytes());
        let sum = crc32(&copy[4..]);
        copy[..4].copy_from_slice(&sum.to_le_bytes());
        let Ok(device) = self.disk.open(Area::UbootCopy(self.older), Access::Shared) else { return };
        // U-Boot has no cache of its own: a write is on the medium.
        if device.write(0, &copy).and_then(|()| device.flush()).is_ok() {
            self.wrote += 1;
            self.older = 1 - self.older;
        }
    }

    /// `ab_start`.
    fn starts(&self, slot: Slot) -> bool {
        let Ok(partition) = Partition::open(self.disk, Area::Boot(slot)) else { return false };
        let Some(text) = partition.text("slot.env") else { return false };
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            lines.rfind(|(key, _)| *key == name).map(|(_, value)| value.trim_end_matches('\r').to_owned())
        };
        let Some(kernel) = value("slot_kernel") else { return false };
        let Some(start) = partition.start::<64>(&kernel) else { return false };
        let initrd = value("slot_initrd").filter(|name| !name.is_empty());
        start[MAGIC.0..].starts_with(MAGIC.1) && initrd.is_none_or(|name| partition.loads(&name))
    }
}

fn imported<'a>(copy: &'a [u8; COPY], name: &str) -> Option<&'a str> {
    variables(copy)?.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// `simple_strtol` of `0x…`: hexadecimal digits up to the first other character, as signed.
fn number(text: &str) -> i64 {
    text.chars()
        .map_while(|digit| digit.to_digit(16))
        .fold(0_i64, |sum, digit| sum.wrapping_mul(16).wrapping_add(i64::from(digit)))
}
