//! Observations of this boot by the running system: how it was started.

use super::{ResetCause, Slot};

/// Observations of this boot, each `None` when unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The firmware's flag; only where the firmware has one.
    pub trial: Option<bool>,
    pub booted: Option<Slot>,
    pub root: Option<Slot>,
    pub boot_id: Option<String>,
    pub reset: Option<ResetCause>,
    /// When this board's bootloader was built, in seconds since 1970.
    pub bootloader_built: Option<u64>,
    /// Whether the bootloader can try another partition at all; `None` when it does not report that.
    pub can_try: Option<bool>,
    /// The kernel's crash messages of earlier boots, the most informative first ([`base::os::pstore`]).
    pub last_words: Vec<String>,
    pub faults: Vec<String>,
}

/// The source of the observations: the machine, or a simulated one.
pub trait BootWitness: Send + Sync {
    fn seen(&self) -> Seen;
}
