//! Mirrors `src/cli/`.

mod agent;
mod approve;
mod bundle;
mod channel;
mod claim;
pub mod fleet;
// That build's extra flag is in no package's man page.
#[cfg(not(feature = "conformance-fixtures"))]
mod pages;
mod pins;
mod pipe;
mod service;
mod slot;
mod tls;
