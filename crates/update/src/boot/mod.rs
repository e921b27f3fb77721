//! How a board selects its boot slot: tryboot, U-Boot, or configured commands, behind one trait (docs/boot.md).
//!
//! A flow reports what the boot chain did and will do ([`Evidence`]), and changes it in atomic steps, so that a power
//! cut leaves it bootable. It makes no decisions: `crate::slots` compares the evidence with the record.

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

pub use choose::{FlowSetting, of_machine};
pub use custom::Custom;
pub use erase::erase;
pub use evidence::{Evidence, ResetCause, Tries};
pub use head::{LONGEST_HEAD, head_of_image, head_to_zero};
pub use machine::{BootMachine, By, has_tryboot};
pub use tryboot::Tryboot;
pub use uboot::Uboot;
pub use witness::{BootWitness, Seen};

use super::Slot;
use base::error::ToolError;

/// The interface to every boot chain. All methods block (they read and write the card, or run commands): do not call
/// them on the runtime's thread.
pub trait BootFlow: Send + Sync {
    /// `tryboot`, `uboot`, `custom` or `simulated`.
    fn name(&self) -> &'static str;

    /// Reads what is known of this boot and of the next one. Never fails: what could not be read is `None`, and
    /// [`Evidence::faults`] says why.
    fn evidence(&self) -> Evidence;

    /// Makes the next restart (with [`BootFlow::trial_argument`], where there is one) start `target` once; any restart
    /// after that starts the other slot, which stays the default. On the medium and read back when this returns.
    /// Idempotent.
    ///
    /// # Errors
    /// `failed_precondition` when the running slot is not the boot chain's default (commit that first) or the boot
    /// chain is not one that this flow can change, `unavailable` for errors of the card, `verification_failed` when it
    /// reads back something else.
    fn arm(&self, target: Slot) -> Result<(), ToolError>;

    /// Undoes [`BootFlow::arm`], before or after the trial: only the default slot is started from now on. The tried
    /// slot is not erased.
    ///
    /// # Errors
    /// Those of [`BootFlow::arm`].
    fn disarm(&self) -> Result<(), ToolError>;

    /// Makes `slot` the default, with all its tries where the boot chain counts: after a successful trial, on every
    /// healthy boot of a chain that counts, and to repair a chain that lost its state. Writes nothing when that is so
    /// already.
    ///
    /// # Errors
    /// `unavailable` for errors of the card, `verification_failed` when it reads back something else.
    fn commit(&self, slot: Slot) -> Result<(), ToolError>;

    /// The argument of reboot(2) that starts the armed trial: `0 tryboot` on a Raspberry Pi. `None`: any restart does.
    fn trial_argument(&self) -> Option<&str>;

    /// The build time of the running bootloader in seconds since 1970, if it reports one. It tells whether the
    /// bootloader can try a slot at all, and is compared with a bundle's `min_eeprom`.
    fn bootloader_built(&self) -> Option<u64> {
        None
    }
}
