//! The tools: one folder per namespace, one file per operation.

pub mod agents;
pub mod camera;
pub mod common_status;
mod empty;
pub mod exec;
pub mod files;
#[cfg(feature = "console")]
pub mod fleet;
pub mod gpio;
pub mod halted;
pub mod i2c;
pub mod logs;
pub mod manage;
pub mod metrics;
pub mod network;
pub mod none;
pub mod onewire;
pub mod page;
pub mod process;
#[cfg(feature = "routeros")]
pub mod routeros;
mod running_command;
pub mod sensors;
pub mod serial;
pub mod service;
pub mod spi;
pub mod system;
pub mod time;
#[expect(clippy::module_inception)] // The namespace is called "tools".
pub mod tools;
pub mod vector;

use crate::registry::row::ToolRow;
use serde::{Deserialize, Deserializer, de::Error};

/// Every tool, grouped by namespace, in the order of the listing.
pub static NAMESPACES: &[&[ToolRow]] = &[
    system::TOOLS,
    metrics::TOOLS,
    network::TOOLS,
    service::TOOLS,
    process::TOOLS,
    camera::TOOLS,
    manage::TOOLS,
    logs::TOOLS,
    files::TOOLS,
    exec::TOOLS,
    gpio::TOOLS,
    i2c::TOOLS,
    spi::TOOLS,
    onewire::TOOLS,
    serial::TOOLS,
    sensors::TOOLS,
    vector::TOOLS,
    agents::TOOLS,
    tools::TOOLS,
];

/// A string of `MIN` to `MAX` characters: enforces `minLength` and `maxLength` in the parser.
///
/// # Errors
/// A sentence naming both limits.
pub fn bounded<'de, D: Deserializer<'de>, const MIN: usize, const MAX: usize>(
    deserializer: D,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.chars().count() {
        n if (MIN..=MAX).contains(&n) => Ok(text),
        n => Err(D::Error::custom(format!("{n} characters where {MIN} to {MAX} are allowed"))),
    }
}

/// An integer from `MIN` to `MAX`: enforces `minimum` and `maximum` in the parser.
///
/// # Errors
/// A sentence naming both limits.
pub fn within<'de, D: Deserializer<'de>, const MIN: u32, const MAX: u32>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        number if (MIN..=MAX).contains(&number) => Ok(number),
        number => Err(D::Error::custom(format!("{number} where {MIN} to {MAX} are allowed"))),
    }
}

/// Bytes for a device, 1 to `MAX` of them.
///
/// # Errors
/// A sentence with the limit.
pub fn bytes<'de, D: Deserializer<'de>, const MAX: usize>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let bytes = Vec::<u8>::deserialize(deserializer)?;
    match bytes.len() {
        count if (1..=MAX).contains(&count) => Ok(bytes),
        count => Err(D::Error::custom(format!("{count} bytes where 1 to {MAX} are allowed"))),
    }
}

/// The declarations of the tools for routers, which a server has where routers are configured.
pub fn for_routers() -> impl Iterator<Item = contract::meta::Meta> {
    #[cfg(feature = "routeros")]
    return crate::routeros::table::all().map(routeros::meta);
    #[cfg(not(feature = "routeros"))]
    return std::iter::empty();
}
