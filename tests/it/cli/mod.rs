//! Mirrors `src/cli/`.

mod agent;
mod approve;
mod audit;
mod bundle;
mod channel;
mod claim;
pub mod fleet;
mod hostile_text;
mod pages;
mod pins;
mod pipe;
mod service;
mod slot;
mod terminal;
mod tls;
