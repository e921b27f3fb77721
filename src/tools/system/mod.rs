//! `system.*`: what this machine is and how it is.

mod basic_info;
pub mod capabilities;
mod clock;
pub mod health_snapshot;
mod modules;
mod rates;
mod throttling;

use crate::registry::tool::Entry;
use schemars::JsonSchema;
use serde::Deserialize;

pub static TOOLS: &[Entry] = &[
    Entry::of::<basic_info::GetBasicInfo>(),
    Entry::of::<health_snapshot::GetHealthSnapshot>(),
    Entry::of::<capabilities::GetCapabilities>(),
    Entry::of::<clock::GetClock>(),
];

/// A tool that takes no parameters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArgs {}
