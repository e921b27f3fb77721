//! The boot chain's evidence about this boot and the next: facts, each `None` when unknown.

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
/// U-Boot: a committed slot that was never found healthy in its three boots looks like a trial at its last one; the
/// record decides. tryboot: the flag stays set until the next restart, so it is still true after a commit; and `armed`
/// only says where a restart with the argument would lead: the flag itself is cleared by the first restart.
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
    /// Remaining boots, where the chain counts them down.
    pub tries: Option<Tries>,
    /// The slot whose root is mounted.
    pub root: Option<Slot>,
    /// The kernel's id of this boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// What ended the previous boot. On a Raspberry Pi a hang and a requested restart look the same: only our own
    /// marker distinguishes them.
    pub reset: Option<ResetCause>,
    /// The kernel's crash messages of earlier boots, the most informative first. They do not say which boot they are
    /// from, but those present before a trial cannot be from it.
    pub last_words: Vec<String>,
    /// What could not be read or is inconsistent, for people: which file or area, and why.
    pub faults: Vec<String>,
}

/// Remaining boots of each slot.
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

    /// A copy with `left` for `slot`.
    #[must_use]
    pub const fn with(self, slot: Slot, left: u32) -> Self {
        match slot {
            Slot::A => Self { a: left, ..self },
            Slot::B => Self { b: left, ..self },
        }
    }
}

impl From<Seen> for Evidence {
    /// The part common to all boot chains: what was observed of this boot. The next one is unknown.
    fn from(seen: Seen) -> Self {
        let Seen { trial, booted, root, boot_id, reset, last_words, faults, bootloader_built: _, can_try: _ } = seen;
        Self { trial, booted, root, boot_id, reset, last_words, faults, ..Self::default() }
    }
}

impl Evidence {
    /// The running slot, if its boot files and its root agree, or if only one of the two is known.
    pub fn running(&self) -> Option<Slot> {
        match (self.booted, self.root) {
            (Some(boot), Some(root)) if boot != root => None,
            (boot, root) => boot.or(root),
        }
    }
}
