//! Serial ports: found, opened for one caller at a time, read into a bounded buffer, written, given back.
//!
//! | file | what |
//! | --- | --- |
//! | `port.rs` | the port: what the kernel's side and the simulated one are |
//! | `find.rs`, `holder.rs`, `tty.rs` | the kernel's side: the ports there are, who uses them, an open terminal |
//! | `simulated.rs` | the simulated side |
//! | `buffer.rs` | what has arrived and was not read |
//! | `open.rs`, `follow.rs` | an open port and its lease; the task that fills its buffer |
//! | `leases.rs` | all open ports, and what callers do with them |
//! | `told.rs` | errors |

mod allow;
mod buffer;
mod find;
mod follow;
mod holder;
mod leases;
mod open;
mod port;
pub mod simulated;
mod told;
mod tty;

pub use allow::SerialAllow;
pub use buffer::{BUFFER_BYTES, Ended, SerialRead};
pub use leases::{Serial, SerialStatus, SerialWrite};
pub use port::{Flow, Line, Parity, SerialBackend, SerialPort, Wire};
pub use told::{HEADER_UART, SerialError};
pub use tty::Ttys;
