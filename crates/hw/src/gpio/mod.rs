//! GPIO: the port with its backends and, above it, [`GpioLines`]: allowed pins, leases, and safe states.

pub mod cdev;
mod edge_hub;
mod halted;
mod hardware;
pub mod header;
mod keeper;
pub mod lease;
pub mod lines;
pub mod listen;
pub mod pin_cache;
mod record;
pub mod refusal;
pub mod registers;
pub mod repeat;
pub mod rules;
mod safe_state;
pub mod shown;
mod simulated;
pub mod wave;

pub use hardware::{Hardware, Twin};
pub use lines::GpioLines;
pub use simulated::SimulatedGpio;
