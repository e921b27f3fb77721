//! The hardware: which board this is, what its firmware says, and (in later parts) its pins, buses and cameras.

pub mod board;
pub mod devices;
pub mod firmware;
pub mod gpio;
pub mod pwm;
pub mod reset;
pub mod temperature;
mod vcgencmd;
