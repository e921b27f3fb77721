//! `spi.*`: the SPI devices of this machine, and transfers with one of them (docs/contract/spi.md).
//!
//! The server does this itself, as a member of the group spi, without the agent. [`hw::spi`] has the devices, the
//! allow-list and the error texts.

mod list_buses;
mod transfer;

use crate::registry::{context::Context, row::ToolRow};
use contract::config::SpiDeviceSetting;

pub static TOOLS: &[ToolRow] = &[ToolRow::of::<list_buses::ListBuses>(), ToolRow::of::<transfer::Transfer>()];

/// The fastest clock of a device for this caller, in hertz, by the configuration or by a grant of spi.transfer.
fn speed(cx: &Context, device: (u32, u32)) -> Option<u32> {
    let granted = || {
        let (policy, name) = (cx.services.policy.held(), format!("spidev{}.{}", device.0, device.1));
        let mut grants = policy.grants(transfer::NAME, Some(&cx.caller.principal));
        grants.any(|grant| grant.has_device_file(&name)).then(SpiDeviceSetting::usual_speed)
    };
    cx.services.spi.allow().speed(device).or_else(granted)
}

/// Marks answers of a simulated board.
fn mark(cx: &Context) {
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
}
