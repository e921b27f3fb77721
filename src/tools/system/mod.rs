//! `system.*`: what this machine is, how it is, and restarting it.

mod basic_info;
pub mod capabilities;
mod clock;
pub mod health_snapshot;
mod modules;
mod rates;
mod reboot;
mod throttling;

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<basic_info::GetBasicInfo>(),
    Entry::of::<health_snapshot::GetHealthSnapshot>(),
    Entry::of::<capabilities::GetCapabilities>(),
    Entry::of::<clock::GetClock>(),
    Entry::of::<reboot::Reboot>(),
];
