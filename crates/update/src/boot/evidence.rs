//! What the boot chain says of this boot and the next: facts, each `None` where nobody tells it.

use super::{Seen, Slot};
pub use base::os::reset::Cause as ResetCause;
use serde::{Deserialize, Serialize};

/// Facts of this boot. `settle` (docs/update.md) has a row for every combination.
///
/// | | tryboot | U-Boot | custom |
/// | --- | --- | --- | --- |
/// | `trial` | the firmware's flag | the booted slot is the armed one, and its one boot is spent | as told |
/// | `booted` | the partition the firmware booted | `raspi_mcp.slot=` | as told |
/// | `default` | `[all]` | first of the order; when that has 1 or 0 boots left, the other one | as told |
/// | `armed` | `[tryboot]`, when it is not `[all]`'s | first of the order, when it has 1 or 0 boots left | as told |
/// | `tries` | none | boots each has left | as told |
///
/// U-Boot: a committed slot that was never found healthy in its three boots looks like a trial at its last one; what is
/// recorded decides. tryboot: the flag stays as it was until the next restart, so it is still true after a commit; and `armed` only says
/// where a restart with the argument would lead: the flag itself is gone with the first restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Evidence {
    /// Whether this boot is the one trial of a slot.
    pub trial: Option<bool>,
    /// The slot whose boot files were started.
    pub booted: Option<Slot>,
    /// The slot that a boot without a trial starts.
    pub default: Option<Slot>,
    /// The slot that a trial starts, or started; `None` when none is armed or it cannot be known ([`Evidence::faults`]).
    pub armed: Option<Slot>,
    /// Boots left, where the chain counts them down by itself.
    pub tries: Option<Tries>,
    /// The slot whose root is mounted.
    pub root: Option<Slot>,
    /// The kernel's id of this boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// What ended the boot before this one. On a Raspberry Pi a hang and an orderly restart look the same: only a marker of our own
    /// tells them apart.
    pub reset: Option<ResetCause>,
    /// What the kernel left of earlier boots, the most telling first. Of which boots, nobody tells: what was there before a trial is not of it.
    pub last_words: Vec<String>,
    /// What could not be read or is not as it should be, for people: which file or area, and why.
    pub faults: Vec<String>,
}

/// Boots each slot has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tries {
    pub a: u32,
    pub b: u32,
}

impl Tries {
    pub const fn of(self, slot: Slot) -> u32 {
        match slot {
            Slot::A => self.a,
            Slot::B => self.b,
        }
    }

    /// These, with `left` for `slot`.
    #[must_use]
    pub const fn with(self, slot: Slot, left: u32) -> Self {
        match slot {
            Slot::A => Self { a: left, ..self },
            Slot::B => Self { b: left, ..self },
        }
    }
}

impl From<Seen> for Evidence {
    /// What every boot chain has in common: who saw this boot. Of the next one nothing is known yet.
    fn from(seen: Seen) -> Self {
        let Seen { trial, booted, root, boot_id, reset, last_words, faults, bootloader_built: _, can_try: _ } = seen;
        Self { trial, booted, root, boot_id, reset, last_words, faults, ..Self::default() }
    }
}

impl Evidence {
    /// The slot that runs, when its boot files and its root agree; or whichever of the two is known when the other is not.
    pub fn running(&self) -> Option<Slot> {
        match (self.booted, self.root) {
            (Some(boot), Some(root)) if boot != root => None,
            (boot, root) => boot.or(root),
        }
    }
}
