//! GPIO: the port with its backends, and on top of it who may use which pin, who has it, and what becomes of it afterwards.

pub mod cdev;
pub mod header;
pub mod port;
mod registers;
mod simulated;

pub use simulated::SimulatedGpio;
