//! One test binary; mirrors `src/`.
// A test may fail loudly.
#![allow(clippy::unwrap_used)]

mod access;
mod agent;
mod config;
mod contract;
mod hw;
mod layout;
mod pi;
mod rpc;
mod os;
mod store;
mod trees;
