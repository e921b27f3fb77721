//! Reboots and shutdowns: schedule and cancel.

mod cancel;
mod schedule;

pub use cancel::{CancelPower, CancelRequest, CancelledPower};
pub use schedule::{PowerRequest, SchedulePower};
