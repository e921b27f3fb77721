//! Processes: signals to them, and a look into those that are not the server's own.

mod inspect;
mod signal;

pub use inspect::{InspectProcess, InspectRequest};
pub use signal::{SendSignal, SignalRequest, Signalled};
