//! Conversations with the program and its crates; mirrors the sources. Those about tools are in `tests/tools`.
// A test may fail loudly.
#![allow(clippy::unwrap_used)]

mod access;
mod agent;
mod agents;
mod allow;
mod appliance;
mod approval_page;
mod attacks;
mod book;
mod bridge;
mod bus;
mod ci;
mod citations;
mod cli;
mod config;
mod conformance;
mod contract;
mod decisions;
mod doctor;
#[cfg(feature = "console")]
mod fleet;
mod fleet_serve;
mod grounds;
mod halt;
mod hw;
mod images;
mod indexing;
mod layout;
mod manage;
mod metrics;
mod notifications;
mod os;
mod page;
mod pins;
mod prompts;
mod resources;
mod routeros;
mod rpc;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod update;
mod updating;
