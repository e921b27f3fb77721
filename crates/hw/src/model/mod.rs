//! Data about board models: revision codes, the header, its chip.

mod chip;
mod contacts;
pub mod profile;
mod revision;

pub use chip::Chip;
pub use contacts::{CONTACTS, Contact};
pub use profile::{BoardProfile, BootMethod, HeaderAccess, I2cBus, PROFILES, PwmChannel};
pub use revision::{Revision, RevisionError};

/// What stands behind the hardware tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum BoardKind {
    /// A Raspberry Pi, with its firmware and its 40-pin header.
    RaspberryPi,
    /// Another board or a PC: the kernel's generic interfaces, no firmware of Raspberry Pi's.
    Linux,
    /// No hardware: a Raspberry Pi that exists in memory.
    Simulated,
}
