//! `raspi-mcp allow` and `revoke`: opens tools one at a time, by fragments of the site's configuration.
//!
//! There is one fragment a namespace, `50-allow-<namespace>.toml`, which both halves read. It is changed under a lock, checked by the same
//! loader that the halves use, and put in its place in one step. Running halves look at it when they are called next
//! ([`contract::config::Reload`]).

mod change;
mod kept;
mod other;
mod usable;
mod write;

pub use change::Change;
pub use kept::{Kept, all};
pub use other::warning;
pub use write::{Done, Way, perform};
