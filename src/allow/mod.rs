//! `raspi-mcp allow` and `revoke`: open single tools, through fragments of the site's configuration.
//!
//! There is one fragment for each namespace, `50-allow-<namespace>.toml`, which server and agent both read. It is
//! changed under a lock, checked by the loader that both use, and replaced atomically. Running processes check for
//! changes at their next call ([`contract::config::Reload`]).

mod change;
mod kept;
mod usable;
mod write;

pub use change::GrantChange;
pub use kept::{GrantFragment, all};
pub use write::{AppliedGrant, GrantAction, perform};
