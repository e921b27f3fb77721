//! Mirrors `src/cli/`.

mod agent;
mod approve;
mod audit;
mod bundle;
mod channel;
mod claim;
pub mod fleet;
mod hostile_text;
// That build's extra flag is in no package's man page.
#[cfg(not(feature = "conformance-fixtures"))]
mod pages;
mod pins;
mod pipe;
mod service;
mod slot;
mod terminal;
mod tls;
