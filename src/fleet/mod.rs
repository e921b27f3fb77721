//! Many devices asked side by side how they are: `raspi-mcp fleet status` (docs/fleet.md).
//!
//! Whoever runs a fleet has a list of it, and no server: each device is asked over MCP, by this machine.

mod ask;
pub mod inventory;
mod mcp;
pub mod report;

pub use inventory::Inventory;
pub use report::Report;

use futures::{StreamExt, stream};

/// Asks them all, a bounded number at once, each for a bounded time; the reports are in the inventory's order.
pub async fn ask(inventory: &Inventory) -> Vec<Report> {
    let asked = inventory.devices.iter().enumerate().map(async |(place, device)| {
        let report = ask::device(device, inventory.timeout).await;
        (place, report)
    });
    // Not in order: one that hangs must not hold up those behind it.
    let mut reports: Vec<_> = stream::iter(asked).buffer_unordered(inventory.at_once).collect().await;
    reports.sort_unstable_by_key(|(place, _)| *place);
    reports.into_iter().map(|(_, report)| report).collect()
}
