//! raspi-mcp: an appliance that an AI assistant can operate safely. This package is the server and the command line;
//! `ARCHITECTURE.md` gives an overview.
//!
//! It may use every other crate of the workspace; none uses it. It has the network and no privileges: operations that
//! need root go to [`agent`], which trusts none of its claims about permissions.
//!
//! Every call enters one pipeline ([`registry`]), gets one answer, and is recorded in the audit: a write before it
//! runs. `rmcp` is used only in [`rpc`].

pub mod agents;
pub mod allow;
pub mod approval;
pub mod approval_page;
pub mod audit;
pub mod authentication;
pub mod bridge;
#[cfg(feature = "fleet")]
pub mod broker;
pub mod claim;
pub mod cli;
pub mod client;
pub mod compressed;
pub mod daemon;
pub mod doctor;
pub mod fleet;
#[cfg(feature = "fleet")]
pub mod fleet_device;
#[cfg(feature = "console")]
pub mod fleet_port;
pub mod halt;
pub mod indexing;
pub mod instance;
pub mod live;
pub mod log;
pub mod metrics;
pub mod notifications;
pub mod observed;
pub mod owner;
pub mod page;
pub mod pins;
pub mod process_setup;
pub mod prompts;
pub mod registry;
pub mod resources;
#[cfg(feature = "routeros")]
pub mod routeros;
pub mod rpc;
pub mod sampling;
pub mod services;
pub mod store;
pub mod terminal;
pub mod tls;
pub mod tools;
pub mod transport;
