//! `system.*`: the machine's properties, health and name, restart and shutdown.

mod basic_info;
pub mod capabilities;
mod clock;
mod detailed_network_info;
mod disks;
pub mod health_snapshot;
pub mod interfaces;
mod modules;
mod network_info;
mod power;
mod rates;
mod reboot;
mod set_hostname;
mod shutdown;
mod throttling;
mod wear;

pub use power::mark;
pub use rates::rounded;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<basic_info::GetBasicInfo>(),
    Row::of::<health_snapshot::GetHealthSnapshot>(),
    Row::of::<capabilities::GetCapabilities>(),
    Row::of::<clock::GetClock>(),
    Row::of::<network_info::GetNetworkInfo>(),
    Row::of::<detailed_network_info::GetDetailedNetworkInfo>(),
    Row::of::<set_hostname::SetHostname>(),
    Row::of::<reboot::Reboot>(),
    Row::of::<shutdown::Shutdown>(),
];
