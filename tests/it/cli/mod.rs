//! Mirrors `src/cli/`.

mod agent;
mod approve;
mod approver;
mod audit;
mod bundle;
mod call;
mod channel;
mod claim;
mod console;
pub mod fleet;
mod halt;
mod hostile_text;
mod orders;
mod pages;
mod pins;
mod pipe;
mod policy;
mod progress;
mod service;
mod slot;
pub mod terminal;
mod tls;
