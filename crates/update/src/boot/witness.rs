//! Who saw this boot: what the running system says of how it was started.

use super::{ResetCause, Slot};

/// What was seen of this boot, each `None` where nobody tells.
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
    /// Whether the bootloader can try another partition at all; only where it tells.
    pub can_try: Option<bool>,
    /// What the kernel left of earlier boots, the most telling first ([`base::os::pstore`]).
    pub last_words: Vec<String>,
    pub faults: Vec<String>,
}

/// The machine, or a simulated one.
pub trait Witness: Send + Sync {
    fn seen(&self) -> Seen;
}
