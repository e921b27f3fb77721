//! raspi-mcp: an appliance that an AI assistant can operate safely. `ARCHITECTURE.md` is the map.

pub mod access;
pub mod agent;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
#[cfg(feature = "conformance-fixtures")]
pub mod conformance;
pub mod daemon;
pub mod doctor;
pub mod error;
pub mod halves;
pub mod hw;
pub mod instance;
pub mod log;
pub mod machine;
pub mod os;
pub mod registry;
pub mod rpc;
pub mod store;
pub mod tools;
pub mod transport;
pub mod world;
