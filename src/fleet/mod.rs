//! Queries many devices concurrently: `raspi-mcp fleet status` (docs/fleet.md).
//!
//! A fleet is an inventory without a server: this machine queries each device over MCP.

mod ask;
#[cfg(feature = "console")]
pub mod console;
#[cfg(feature = "console")]
pub mod desk;
pub mod inventory;
#[cfg(feature = "console")]
pub mod local_port;
mod mcp;
pub mod report;
#[cfg(feature = "console")]
pub mod rollout;
#[cfg(feature = "console")]
pub mod serve;
#[cfg(feature = "console")]
pub mod tunnel;

pub use inventory::Inventory;
pub use report::DeviceReport;

use futures::{StreamExt, stream};

/// Queries all devices, a limited number at once, each for a limited time; the reports are in the inventory's order. `told` hears
/// how many have been asked.
pub async fn ask(inventory: &Inventory, told: impl Fn(usize)) -> Vec<DeviceReport> {
    let asked = inventory.devices.iter().enumerate().map(async |(place, device)| {
        let report = ask::device(device, inventory.timeout).await;
        (place, report)
    });
    // Unordered: a device that hangs must not delay those after it.
    let mut reports = Vec::with_capacity(inventory.devices.len());
    let mut answers = stream::iter(asked).buffer_unordered(inventory.at_once);
    while let Some(report) = answers.next().await {
        reports.push(report);
        told(reports.len());
    }
    base::sort::sort_by_key(&mut reports, |(place, _)| *place);
    reports.into_iter().map(|(_, report)| report).collect()
}
