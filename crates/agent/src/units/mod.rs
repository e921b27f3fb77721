//! systemd's units as the agent acts on them: real or simulated.

pub mod allow;
mod port;
pub mod protected;
pub mod reach;
mod real;
mod simulated;

pub use port::{Action, EnableEffects, JobEnd, JobMode, Links, Unit, Units};
pub use real::RealUnits;
pub use simulated::SimulatedUnits;
