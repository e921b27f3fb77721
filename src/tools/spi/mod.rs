//! `spi.*`: the SPI devices of this machine, and transfers with one of them (docs/contract/spi.md).
//!
//! The server does this itself, as a member of the group spi, without the agent. [`hw::spi`] has the devices, the
//! allow-list and the error texts.

mod list_buses;
mod transfer;

use crate::registry::{context::Context, row::ToolRow};
use base::error::ToolError;
use contract::config::SpiDeviceSetting;

pub static TOOLS: &[ToolRow] = &[ToolRow::of::<list_buses::ListBuses>(), ToolRow::of::<transfer::Transfer>()];

/// The fastest clock of a device for this caller, in hertz, by a grant of spi.transfer, or by the configuration where that
/// counts for the caller.
///
/// # Errors
/// `permission_denied` if the device is out of its reach.
fn speed(cx: &Context, device: (u32, u32)) -> Result<u32, ToolError> {
    let (reach, name) = (cx.reach(transfer::NAME), format!("spidev{}.{}", device.0, device.1));
    let (listed, granted) = (cx.services.spi.allow().speed(device), reach.has_device_file(&name));
    if granted {
        return Ok(listed.unwrap_or_else(SpiDeviceSetting::usual_speed));
    }
    reach
        .check_listed(&name)
        .map_err(|error| error.with("required_permission", format!("spi:transfer:{}:{}", device.0, device.1)))?;
    listed.ok_or_else(|| cx.services.spi.allow().refusal(device))
}

/// Marks answers of a simulated board.
fn mark(cx: &Context) {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}
