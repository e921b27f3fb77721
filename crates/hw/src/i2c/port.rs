//! The port to I2C buses, and the faults of a bus.
//!
//! Faults as in the kernel's Documentation/i2c/fault-codes.rst.

use super::functions::{Functions, Lack, TransferKind};
use contract::values::I2cAddress;
use rustix::io::Errno;
use std::{io, time::Duration};

/// One adapter with a device file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct I2cAdapter {
    /// The N of `/dev/i2c-N`.
    pub number: u32,
    /// The driver's name for it: `bcm2835 (i2c@7e804000)`.
    pub name: Option<String>,
}

/// A device that is bound to a kernel driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundDevice {
    pub address: u8,
    /// `rtc-ds1307`
    pub driver: String,
    /// The part, as named in the device tree or by its creator: `ds3231`.
    pub device: Option<String>,
}

/// The buses of a machine.
pub trait I2cPort: Send + Sync {
    /// The buses with a device file, by number. No traffic on a bus.
    fn buses(&self) -> Vec<I2cAdapter>;

    /// The devices on a bus that are bound to drivers, by address. No traffic on a bus.
    fn holders(&self, bus: u32) -> Vec<BoundDevice>;

    /// The adapter's functionality. Queries its driver, not the bus.
    ///
    /// # Errors
    /// [`I2cError::NoBus`], [`I2cError::NotLetIn`].
    fn functions(&self, bus: u32) -> Result<Functions, I2cError>;

    /// One transfer with one device: sends `write`, then fills `read`, as `way` says; their lengths must be those
    /// passed to [`Functions::way`]. May block for as long as the adapter takes.
    ///
    /// # Errors
    /// The adapter's error; the content of `read` is then undefined.
    fn perform(
        &self,
        bus: u32,
        address: I2cAddress,
        way: TransferKind,
        write: &[u8],
        read: &mut [u8],
    ) -> Result<(), I2cError>;
}

/// Why a transfer failed or was not started.
#[derive(Debug)]
pub enum I2cError {
    /// There is no such bus, or it has no device file.
    NoBus,
    /// This process may not open the bus.
    NotLetIn,
    /// A kernel driver is bound to the device.
    Held,
    /// The address or the data was not acknowledged. Most adapters do not say which.
    Nack,
    /// Another master transmitted at the same time and won.
    ArbitrationLost,
    /// The bus was not free: in use by another master, or a line is held low.
    Busy,
    /// The adapter timed out, after this time.
    Timeout(Duration),
    /// The adapter lacks the functionality.
    Lacks(Lack),
    /// Its driver refuses this length or protocol, despite its functionality.
    Refused(io::Error),
    /// Another call did not release the bus in time. This one waited for so long.
    Queue(Duration),
    Other(io::Error),
}

impl I2cError {
    /// The fault of a transfer; `took` is its duration.
    pub fn of_transfer(fault: io::Error, took: Duration) -> Self {
        match fault.raw_os_error().map(Errno::from_raw_os_error) {
            // ENXIO: the address; EREMOTEIO: address or data (i2c-bcm2835 and many others return only that). ENODEV is
            // from i2c-stub, and by fault-codes.rst means a device that was removed.
            Some(Errno::NXIO | Errno::REMOTEIO | Errno::NODEV) => Self::Nack,
            Some(Errno::AGAIN) => Self::ArbitrationLost,
            Some(Errno::BUSY) => Self::Busy,
            Some(Errno::TIMEDOUT) => Self::Timeout(took),
            Some(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOTTY) => Self::Refused(fault),
            _ => Self::Other(fault),
        }
    }

    /// The fault of opening `/dev/i2c-N`.
    pub fn of_open(fault: io::Error) -> Self {
        match fault.raw_os_error().map(Errno::from_raw_os_error) {
            // ENODEV, ENXIO: the file remained after the adapter was removed.
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
            assert_eq!(I2cError::of_transfer(said(errno), Duration::ZERO).word(), word, "{errno:?}");
        }
        assert_eq!(I2cError::of_transfer(io::ErrorKind::UnexpectedEof.into(), Duration::ZERO).word(), "io");
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
            assert_eq!(I2cError::of_open(said(errno)).word(), word, "{errno:?}");
        }
    }
}
