//! `i2c.*`: buses, a scan for devices, and transfers with one device (docs/contract/i2c.md).
//!
//! The server does this itself, as a member of the group i2c, without the agent. [`hw::i2c`] has the buses, the
//! allow-list and the error texts.

mod args;
mod identify;
mod list_buses;
mod read;
mod scan_bus;
mod transfer;
mod write;

use crate::registry::{context::Context, row::ToolRow};
use base::error::ToolError;
use contract::values::I2cAddress;
use hw::i2c::{Addresses, I2cAccessKind};

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<list_buses::ListBuses>(),
    ToolRow::of::<scan_bus::ScanBus>(),
    ToolRow::of::<identify::Identify>(),
    ToolRow::of::<read::Read>(),
    ToolRow::of::<write::Write>(),
    ToolRow::of::<transfer::Transfer>(),
];

/// The devices of `bus` that grants open to this tool and caller.
fn granted(cx: &Context, tool: &str, bus: u32) -> Addresses {
    cx.reach(tool).addresses(bus)
}

/// Whether a grant of this tool, or the configuration where that counts for the caller, allows reading or writing this
/// device.
///
/// # Errors
/// `permission_denied`.
fn permit(cx: &Context, tool: &str, bus: u32, address: I2cAddress, want: I2cAccessKind) -> Result<(), ToolError> {
    let reach = cx.reach(tool);
    if reach.addresses(bus).holds(address) {
        return Ok(());
    }
    reach
        .check_listed(&format!("{address} on I2C bus {bus}"))
        .map_err(|error| error.with("required_permission", format!("i2c:{}:{bus}:{address}", want.word())))?;
    cx.services.i2c.allow().check(bus, address, want)
}

/// Marks answers of a simulated board.
fn mark(cx: &Context) {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}
