//! Channels: which releases there are, for whom, and what of that is for this device.

pub mod window;
