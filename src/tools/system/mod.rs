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

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<basic_info::GetBasicInfo>(),
    Entry::of::<health_snapshot::GetHealthSnapshot>(),
    Entry::of::<capabilities::GetCapabilities>(),
    Entry::of::<clock::GetClock>(),
    Entry::of::<network_info::GetNetworkInfo>(),
    Entry::of::<detailed_network_info::GetDetailedNetworkInfo>(),
    Entry::of::<set_hostname::SetHostname>(),
    Entry::of::<reboot::Reboot>(),
    Entry::of::<shutdown::Shutdown>(),
];
