//! One test binary; mirrors `src/`.
// A test may fail loudly.
#![allow(clippy::unwrap_used)]

mod access;
mod agent;
mod allow;
mod appliance;
mod attacks;
mod bridge;
mod ci;
mod citations;
mod cli;
mod config;
mod conformance;
mod contract;
mod decisions;
mod doctor;
mod grounds;
mod hw;
mod images;
mod layout;
mod metrics;
mod network_manager;
mod os;
mod pi;
mod pins;
mod private_bus;
mod prompts;
mod readme;
mod resources;
mod rpc;
mod served;
mod store;
mod tools;
mod trees;
mod update;
mod updating;
