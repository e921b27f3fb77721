//! `system.*`: the machine's properties, health and name, restart and shutdown.

mod basic_info;
pub mod capabilities;
mod clock;
mod detailed_network_info;
mod devices;
mod disks;
pub mod health_snapshot;
pub mod interfaces;
mod modules;
mod network_info;
mod packages;
mod power;
mod rates;
mod reboot;
mod set_hostname;
mod set_timezone;
mod shutdown;
mod throttling;
mod wear;

pub use power::mark;
pub use rates::rounded;

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<basic_info::GetBasicInfo>(),
    ToolRow::of::<health_snapshot::GetHealthSnapshot>(),
    ToolRow::of::<capabilities::GetCapabilities>(),
    ToolRow::of::<clock::GetClock>(),
    ToolRow::of::<network_info::GetNetworkInfo>(),
    ToolRow::of::<detailed_network_info::GetDetailedNetworkInfo>(),
    ToolRow::of::<packages::ListPackages>(),
    ToolRow::of::<devices::ListDevices>(),
    ToolRow::of::<set_hostname::SetHostname>(),
    ToolRow::of::<set_timezone::SetTimezone>(),
    ToolRow::of::<reboot::Reboot>(),
    ToolRow::of::<shutdown::Shutdown>(),
];
