//! Whether a trial is healthy: what worked before works again, and configured checks succeed.
//!
//! Each half checks what it can see. The server half has the network: interfaces, gateway, channel, web addresses,
//! units over D-Bus ([`Observations`], [`Baseline`], [`judge`]). The agent has root and its own configuration: units, commands,
//! and whether the server answers on its socket ([`own`]). A trial is committed only when both find nothing wrong.

mod baseline;
mod look;
mod missing;
pub mod own;
mod verdict;

pub use baseline::Baseline;
pub use look::{Observations, Probe};
pub use missing::Missing;
pub use verdict::{Check, HealthVerdict, Problem, judge, operable};
