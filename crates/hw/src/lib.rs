//! The hardware: the board, its firmware, its pins, PWM, I2C buses and cameras.
//!
//! Depends on `base` and `contract`, and on neither tools nor the agent. What it needs of them (such as the firmware's
//! mailbox) is passed in.
//!
//! Each kind of hardware is a port with two implementations, the kernel's and a simulated one, which callers cannot
//! distinguish. Each line has one holder, and a safe state when it is released. Every wait for a device is bounded.

pub mod board;
pub mod camera;
pub mod devices;
pub mod firmware;
pub mod gpio;
pub mod i2c;
pub mod line;
pub mod machine;
pub mod model;
pub mod onewire;
pub mod pwm;
pub mod reset;
pub mod sensors;
pub mod serial;
pub mod spi;
pub mod temperature;
mod vcgencmd;
