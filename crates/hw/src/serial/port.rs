//! The port to serial lines: which there are, and one that is open.

use super::told::SerialError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{io, os::fd::OwnedFd, sync::Arc};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Parity {
    #[default]
    None,
    Even,
    Odd,
}

/// Who may stop whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Flow {
    #[default]
    None,
    // By two wires.
    RtsCts,
    // By two characters.
    XonXoff,
}

/// The settings of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Bits a second, in both directions.
    pub baud: u32,
    /// 5 to 8.
    pub data_bits: u8,
    pub parity: Parity,
    /// 1 or 2.
    pub stop_bits: u8,
    pub flow: Flow,
}

/// One port with a device file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialPort {
    /// Its path below `/dev`.
    pub name: String,
    /// Its driver: `ftdi_sio`.
    pub driver: Option<String>,
    /// What a USB device calls itself.
    pub product: Option<String>,
    /// Why this system needs it itself, if it does.
    pub taken: Option<String>,
}

/// An open line. Dropping it closes it.
pub trait Wire: Send + Sync {
    /// A descriptor that becomes readable when bytes have arrived, and returns none when the line is gone.
    ///
    /// # Errors
    /// Without descriptors.
    fn descriptor(&self) -> io::Result<OwnedFd>;
    /// Changes its settings.
    ///
    /// # Errors
    /// [`SerialError::Unsupported`], or the driver's.
    fn configure(&self, line: Line) -> Result<(), SerialError>;
    /// Gives bytes to the driver, and returns how many it took. Does not block.
    ///
    /// # Errors
    /// `WouldBlock` while its buffer is full; the driver's.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;
    /// How many of the bytes that the driver took have not left. Does not block; the kernel has no event for the last one.
    ///
    /// # Errors
    /// The driver's.
    fn unsent(&self) -> io::Result<usize>;
    /// Drops the bytes that have not left, as far as the driver can.
    fn discard(&self);
    /// Begins or ends a break. Beginning one blocks until the bytes before it have left.
    ///
    /// # Errors
    /// The driver's.
    fn set_break(&self, on: bool) -> io::Result<()>;
    /// Framing errors, overruns of the hardware, parity errors, breaks, overruns of the kernel's buffer so far. `None`: its
    /// driver does not count.
    fn faults(&self) -> Option<[u32; 5]>;
}

/// The ports of a machine.
pub trait SerialBackend: Send + Sync {
    /// Those there are, by name, and those of `listed` that are there.
    fn ports(&self, listed: &[String]) -> Vec<SerialPort>;
    /// Opens one for this server alone. May block for as long as its driver takes.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn open(&self, name: &str, line: Line) -> Result<Arc<dyn Wire>, SerialError>;
}
