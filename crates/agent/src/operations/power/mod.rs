//! Reboots and shutdowns: scheduled, and taken back.

mod cancel;
mod schedule;

pub use cancel::{CancelPower, CancelRequest, CancelledPower};
pub use schedule::{PowerRequest, SchedulePower};
