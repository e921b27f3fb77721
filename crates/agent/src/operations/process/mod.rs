//! Processes: signals, and inspection of those that are not the server's own.

mod inspect;
mod signal;

pub use inspect::{InspectProcess, InspectRequest};
pub use signal::{SendSignal, SignalRequest, Signalled};
