//! `i2c.*`: buses, who is on them, and transfers with one device (document 000, section 6).
//!
//! The server does this itself, as a member of the group i2c; the agent has no part in it. [`crate::hw::i2c`] has the buses, the
//! list of what may be reached, and the words for what goes wrong.

mod args;
mod list_buses;
mod read;
mod scan_bus;
mod transfer;
mod write;

use crate::{
    error::ToolError,
    hw::i2c::{Address, Want},
    registry::{context::Context, tool::Entry},
};

pub static TOOLS: &[Entry] = &[
    Entry::of::<list_buses::ListBuses>(),
    Entry::of::<scan_bus::ScanBus>(),
    Entry::of::<read::Read>(),
    Entry::of::<write::Write>(),
    Entry::of::<transfer::Transfer>(),
];

/// A device's address out of the 128 that an argument may hold.
///
/// # Errors
/// `invalid_argument` for one that means something else than a device.
fn device(address: u8) -> Result<Address, ToolError> {
    Address::new(address).ok_or_else(|| {
        ToolError::invalid(format!("{address:#04x} is reserved; devices have 0x08 (8) to 0x77 (119)"))
            .with("parameter", "address")
            .with("provided_value", address)
            .hint("addresses count without the direction bit: a data sheet's 0x90/0x91 is 0x48 (72)")
    })
}

/// Whether the configuration lets this device be read or written.
///
/// # Errors
/// `invalid_argument`, `permission_denied`.
fn permit(cx: &Context, bus: u32, address: u8, want: Want) -> Result<(), ToolError> {
    cx.world.i2c.allow().check(bus, device(address)?, want)
}

/// Answers of a simulated board say so.
fn mark(cx: &Context) {
    if cx.world.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}
