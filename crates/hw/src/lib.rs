//! The hardware: which board this is, what its firmware says, its pins, PWM, I2C buses and cameras.
//!
//! Knows `base` and `contract`; neither tools nor the agent. What it needs of them (the firmware's mailbox, say) is passed in.
//!
//! Each kind of hardware is a port with two ends, the kernel's and a simulated twin, and no caller sees which one it has. One holder for
//! each line, with its safe state when it lets go. Every wait for a device is bounded.

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
