//! How a board chooses what it boots: tryboot, U-Boot, or configured commands behind one trait (docs/boot.md).
//!
//! A flow tells what the boot chain did and will do ([`Evidence`]), and changes it in single steps that a power cut cannot tear into
//! something unbootable. It decides nothing: `crate::slots` weighs the evidence against what was recorded.

mod choose;
pub mod custom;
mod erase;
mod evidence;
pub mod fat;
mod head;
mod machine;
pub mod tryboot;
pub mod uboot;
mod witness;

pub use choose::{Wanted, of_machine};
pub use custom::Custom;
pub use erase::erase;
pub use evidence::{Evidence, ResetCause, Tries};
pub use head::{LONGEST_HEAD, head_of_image, head_to_zero};
pub use machine::{By, Machine, has_tryboot};
pub use tryboot::Tryboot;
pub use uboot::Uboot;
pub use witness::{Seen, Witness};

use super::Slot;
use base::error::ToolError;

/// What every boot chain can be asked and told. All of it sleeps (it reads and writes the card, or runs commands): call it off the
/// one thread that serves everybody.
pub trait BootFlow: Send + Sync {
    /// `tryboot`, `uboot`, `custom` or `simulated`.
    fn name(&self) -> &'static str;

    /// What is known of this boot and of the next one, read anew. Never fails: what could not be read is `None`, and
    /// [`Evidence::faults`] says why.
    fn evidence(&self) -> Evidence;

    /// Has the next restart (with [`BootFlow::trial_argument`], where there is one) start `target` once; any restart after
    /// that starts the other slot, which stays the default. On the medium and read back when this returns; done twice it is done once.
    ///
    /// # Errors
    /// `failed_precondition` when the boot chain does not have the running slot as its default (commit that first) or is not what this
    /// flow can change, `unavailable` for what the card says, `verification_failed` when it reads back something else.
    fn arm(&self, target: Slot) -> Result<(), ToolError>;

    /// Takes [`BootFlow::arm`] back, before or after the trial: the default slot is all that is started from now on. What was tried is
    /// not erased by this.
    ///
    /// # Errors
    /// Those of [`BootFlow::arm`].
    fn disarm(&self) -> Result<(), ToolError>;

    /// Makes `slot` the default, with all its tries where the boot chain counts: after a trial that went well, on every healthy
    /// boot of a chain that counts, and to repair a chain that forgot. Writes nothing when it is so already.
    ///
    /// # Errors
    /// `unavailable` for what the card says, `verification_failed` when it reads back something else.
    fn commit(&self, slot: Slot) -> Result<(), ToolError>;

    /// What reboot(2) has to be told for the armed trial to happen: `0 tryboot` on a Raspberry Pi. `None`: any restart will do.
    fn trial_argument(&self) -> Option<&str>;

    /// Whether this board's bootloader is able to try a slot at all: the running one's build time in seconds since 1970, where it
    /// tells. A bundle's `min_eeprom` is held against it.
    fn bootloader_built(&self) -> Option<u64> {
        None
    }
}
