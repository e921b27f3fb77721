//! 1-Wire: the devices that the kernel's masters have found, and what they say (Documentation/w1).
//!
//! Only what reads without changing anything is offered: a thermometer's conversion, the pins of a switch, a memory. The
//! kernel keeps a bus for itself while it uses it.

mod families;
pub mod simulated;
mod sysfs;

pub use families::{Family, W1Kind, family, is_address, thermometer_family};
pub use sysfs::{DEVICES, Scratchpad, W1Sysfs, scratchpad};

use base::{
    error::ToolError,
    os::{Root, blocking},
};
use std::{io, sync::Arc};

/// Most bytes of one read: a DS2433 has so many.
pub const BYTES: usize = 512;

/// The devices of a machine.
pub trait W1Port: Send + Sync {
    /// Their addresses, as the kernel writes them: `28-0123456789ab`.
    fn devices(&self) -> Vec<String>;
    /// The masters: `w1_bus_master1`.
    fn masters(&self) -> Vec<String>;
    /// A file of a device. May block for as long as the device takes, about a second.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, address: &str, file: &str) -> io::Result<Vec<u8>>;
}

/// 1-Wire for tools.
pub struct OneWire(Arc<dyn W1Port>);

impl OneWire {
    /// That of this machine, or of a simulated board.
    pub fn of(root: &Root, simulated: Option<&simulated::SimulatedW1>) -> Self {
        match simulated {
            Some(devices) => Self(Arc::new(devices.clone())),
            None => Self(Arc::new(W1Sysfs(root.clone()))),
        }
    }

    /// For questions that cause no traffic on a bus.
    pub fn port(&self) -> &dyn W1Port {
        &*self.0
    }

    /// Reads what its family offers, at most [`BYTES`] and one more.
    ///
    /// # Errors
    /// `not_found` for a device that is not there, `capability_missing` for one without a driver or of which nothing is
    /// read, `unavailable` for one that does not answer.
    pub async fn read(&self, tool: &'static str, address: &str) -> Result<(&'static Family, Vec<u8>), ToolError> {
        let known = family(address);
        let Some((known, file)) = known.and_then(|known| Some((known, known.file?))) else {
            return Err(ToolError::missing(format!("nothing of {address} is read here"))
                .with("address", address)
                .hint(
                    "onewire.list_devices says what can be read of each device; others need a program of their own",
                ));
        };
        let (port, device) = (Arc::clone(&self.0), address.to_owned());
        let read = blocking::run(tool, move |stop| {
            stop.check()?;
            Ok(port.read(&device, file))
        });
        let mut bytes = read.await?.map_err(|fault| self.told(address, file, &fault))?;
        bytes.truncate(BYTES + 1);
        Ok((known, bytes))
    }

    fn told(&self, address: &str, file: &str, fault: &io::Error) -> ToolError {
        let there = self.0.devices().iter().any(|device| device == address);
        let error = match fault.kind() {
            io::ErrorKind::NotFound if there => {
                ToolError::missing(format!("no driver of the kernel reads {address} (there is no file {file})")).hint(
                    "load the module of its family: w1_therm for thermometers; modprobe w1_therm, or add it to /etc/modules",
                )
            }
            _ if !there => ToolError::not_found(format!("there is no 1-Wire device {address}"))
                .hint("onewire.list_devices shows those there are; check its wires and the pull-up of 4.7 kOhm"),
            io::ErrorKind::PermissionDenied => ToolError::unavailable(format!("{address} may not be read: {fault}"))
                .with("resource", format!("/sys/bus/w1/devices/{address}/{file}"))
                .hint("let the server's user read it"),
            _ => ToolError::unavailable(format!("{address} does not answer: {fault}"))
                .hint("check its wires, power and pull-up; the kernel's log may say more (logs.query_journal)"),
        };
        error.with("address", address)
    }
}
