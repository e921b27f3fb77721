//! raspi-mcp: an appliance that an AI assistant can operate safely. This package is the server half and the command line; `ARCHITECTURE.md`
//! is the map.
//!
//! It may know every other crate of the workspace; none knows it. It has the network and no privileges: what needs root it asks of
//! [`agent`], which believes nothing that it says about permission.
//!
//! Every call enters at one pipeline ([`registry`]), gets one answer, and is in the audit: a write before it runs. `rmcp` is named in
//! [`rpc`] only.

pub mod allow;
pub mod approval;
pub mod audit;
pub mod authentication;
pub mod bridge;
pub mod claim;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod doctor;
pub mod fleet;
pub mod instance;
pub mod live;
pub mod log;
pub mod metrics;
pub mod observed;
pub mod pins;
pub mod process_setup;
pub mod prompts;
pub mod registry;
pub mod resources;
pub mod rpc;
pub mod sampling;
pub mod services;
pub mod store;
pub mod terminal;
pub mod tls;
pub mod tools;
pub mod transport;
