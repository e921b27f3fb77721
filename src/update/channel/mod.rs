//! Channels: which releases there are, for whom, and what of that is for this device.

mod reckoning;
pub mod window;

pub use reckoning::Reckoning;
