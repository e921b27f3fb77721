//! What every backend of I2C keeps, and what can go wrong on a bus.
//!
//! Faults by the kernel's Documentation/i2c/fault-codes.rst.

use super::functions::{Functions, Lack, Way};
use contract::values::Address;
use rustix::io::Errno;
use std::{io, time::Duration};

/// One adapter that programs can open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// The N of `/dev/i2c-N`.
    pub number: u32,
    /// What its driver calls it: `bcm2835 (i2c@7e804000)`.
    pub name: Option<String>,
}

/// A device that belongs to a driver of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub address: u8,
    /// `rtc-ds1307`
    pub driver: String,
    /// The part, as the device tree or whoever made it says: `ds3231`.
    pub device: Option<String>,
}

/// The buses of a machine.
pub trait Port: Send + Sync {
    /// Those a program can open, by number. Nothing on a bus moves.
    fn buses(&self) -> Vec<Bus>;

    /// The devices on a bus that drivers have, by address. Nothing on a bus moves.
    fn holders(&self, bus: u32) -> Vec<Holder>;

    /// What the adapter can do. Asks its driver, not the bus.
    ///
    /// # Errors
    /// [`Fault::NoBus`], [`Fault::NotLetIn`].
    fn functions(&self, bus: u32) -> Result<Functions, Fault>;

    /// One transfer with one device: `write` is sent, then `read` is filled, as `way` says; their lengths are those that
    /// [`Functions::way`] was asked about. May sleep as long as the adapter wants, so it is called where that is allowed.
    ///
    /// # Errors
    /// Whatever the adapter says; then `read` holds nothing of use.
    fn perform(&self, bus: u32, address: Address, way: Way, write: &[u8], read: &mut [u8]) -> Result<(), Fault>;
}

/// Why a transfer did not happen, or not to its end.
#[derive(Debug)]
pub enum Fault {
    /// There is no such bus, or none that programs can open.
    NoBus,
    /// The bus is there and this process may not open it.
    NotLetIn,
    /// A driver of the kernel has the device.
    Held,
    /// Nobody acknowledged the address, or the device did not acknowledge what it was sent. Most adapters do not say which.
    Nack,
    /// Another master spoke at the same time, and won.
    ArbitrationLost,
    /// The bus was not free: another master has it, or a line is held low.
    Busy,
    /// The adapter gave up waiting. So long it took.
    Timeout(Duration),
    /// The adapter has no way to do it.
    Lacks(Lack),
    /// Its driver refuses this length or protocol, whatever its functionality says.
    Refused(io::Error),
    /// Another call did not give the bus back in time. So long this one waited.
    Queue(Duration),
    Other(io::Error),
}

impl Fault {
    /// What a transfer failed with; `took` is how long it went on.
    pub fn of_transfer(fault: io::Error, took: Duration) -> Self {
        match fault.raw_os_error().map(Errno::from_raw_os_error) {
            // ENXIO: the address; EREMOTEIO: address or data (i2c-bcm2835 and many others say nothing else). ENODEV is
            // what i2c-stub says, and fault-codes.rst has it for devices that went away.
            Some(Errno::NXIO | Errno::REMOTEIO | Errno::NODEV) => Self::Nack,
            Some(Errno::AGAIN) => Self::ArbitrationLost,
            Some(Errno::BUSY) => Self::Busy,
            Some(Errno::TIMEDOUT) => Self::Timeout(took),
            Some(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOTTY) => Self::Refused(fault),
            _ => Self::Other(fault),
        }
    }

    /// What opening `/dev/i2c-N` failed with.
    pub fn of_open(fault: io::Error) -> Self {
        match fault.raw_os_error().map(Errno::from_raw_os_error) {
            // ENODEV, ENXIO: the file stayed behind when the adapter went.
            Some(Errno::NOENT | Errno::NODEV | Errno::NXIO) => Self::NoBus,
            Some(Errno::ACCESS | Errno::PERM) => Self::NotLetIn,
            _ => Self::Other(fault),
        }
    }

    /// For programs: `details.fault` of the error.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NoBus => "no_bus",
            Self::NotLetIn => "no_access",
            Self::Held => "held_by_driver",
            Self::Nack => "nack",
            Self::ArbitrationLost => "arbitration_lost",
            Self::Busy => "bus_busy",
            Self::Timeout(_) => "timeout",
            Self::Lacks(_) => "unsupported",
            Self::Refused(_) => "refused_by_adapter",
            Self::Queue(_) => "queue",
            Self::Other(_) => "io",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[test]
    fn a_transfers_faults_are_told_apart() {
        for (errno, word) in [
            (Errno::NXIO, "nack"),
            (Errno::REMOTEIO, "nack"),
            (Errno::NODEV, "nack"),
            (Errno::AGAIN, "arbitration_lost"),
            (Errno::BUSY, "bus_busy"),
            (Errno::TIMEDOUT, "timeout"),
            (Errno::OPNOTSUPP, "refused_by_adapter"),
            (Errno::INVAL, "refused_by_adapter"),
            (Errno::IO, "io"),
            (Errno::PROTO, "io"),
        ] {
            assert_eq!(Fault::of_transfer(said(errno), Duration::ZERO).word(), word, "{errno:?}");
        }
        assert_eq!(Fault::of_transfer(io::ErrorKind::UnexpectedEof.into(), Duration::ZERO).word(), "io");
    }

    #[test]
    fn so_are_those_of_opening_a_bus() {
        for (errno, word) in [
            (Errno::NOENT, "no_bus"),
            (Errno::NXIO, "no_bus"),
            (Errno::ACCESS, "no_access"),
            // What DeviceAllow= of a unit says.
            (Errno::PERM, "no_access"),
            (Errno::MFILE, "io"),
        ] {
            assert_eq!(Fault::of_open(said(errno)).word(), word, "{errno:?}");
        }
    }
}
