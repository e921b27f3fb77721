//! Plain values that settings, tools and hardware share: a pin, a level, addresses on a bus, hours of a week. They
//! depend on no module of the program except the reader of time zones (`os::clock`).

pub mod address;
mod level;
mod pin;
pub mod window;

pub use address::{Addresses, I2cAddress};
pub use level::{Level, Pull};
pub use pin::{Pin, PinError};
pub use window::{Window, Windows};
