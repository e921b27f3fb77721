//! The hardware: which board this is, what its firmware says, its buses, and (in later parts) its pins and cameras.

pub mod board;
pub mod camera;
pub mod devices;
pub mod firmware;
pub mod gpio;
pub mod i2c;
pub mod line;
pub mod machine;
pub mod model;
pub mod pwm;
pub mod reset;
pub mod temperature;
mod vcgencmd;
