//! `i2c.*`: buses, who is on them, and transfers with one device (docs/contract/i2c.md).
//!
//! The server does this itself, as a member of the group i2c; the agent has no part in it. [`hw::i2c`] has the buses, the
//! list of what may be reached, and the words for what goes wrong.

mod args;
mod list_buses;
mod read;
mod scan_bus;
mod transfer;
mod write;

use crate::registry::{context::Context, tool::Entry};
use base::error::ToolError;
use contract::values::Address;
use hw::i2c::{Addresses, Want};

pub static TOOLS: &[Entry] = &[
    Entry::of::<list_buses::ListBuses>(),
    Entry::of::<scan_bus::ScanBus>(),
    Entry::of::<read::Read>(),
    Entry::of::<write::Write>(),
    Entry::of::<transfer::Transfer>(),
];

/// The devices of `bus` that grants open to this tool, for this caller.
fn granted(cx: &Context, tool: &str, bus: u32) -> Addresses {
    let policy = cx.services.policy.held();
    let grants = policy.grants(tool, Some(&cx.caller.principal));
    grants.fold(Addresses::default(), |all, grant| all.and(grant.addresses(bus)))
}

/// Whether the configuration, or a grant of this tool, lets this device be read or written.
///
/// # Errors
/// `permission_denied`.
fn permit(cx: &Context, tool: &str, bus: u32, address: Address, want: Want) -> Result<(), ToolError> {
    if granted(cx, tool, bus).holds(address) { Ok(()) } else { cx.services.i2c.allow().check(bus, address, want) }
}

/// Answers of a simulated board say so.
fn mark(cx: &Context) {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}
