//! The kernel's buses, through the crate i2cdev: `/dev/i2c-N`.

use super::{
    functions::{Functions, TransferKind},
    port::{BoundDevice, I2cAdapter, I2cError, I2cPort},
    sysfs,
};
use base::os::{Root, ioctl};
use contract::values::I2cAddress;
use i2cdev::{
    core::{I2CDevice, I2CMessage, I2CTransfer},
    linux::{LinuxI2CDevice, LinuxI2CError, LinuxI2CMessage},
};
use rustix::io::Errno;
use std::{fs::File, io, path::PathBuf, time::Instant};

/// The buses below a root.
#[derive(Debug)]
pub struct Dev {
    root: Root,
}

impl Dev {
    pub fn new(root: Root) -> Self {
        Self { root }
    }

    fn path(&self, bus: u32) -> PathBuf {
        self.root.path(&format!("dev/i2c-{bus}"))
    }
}

impl I2cPort for Dev {
    fn buses(&self) -> Vec<I2cAdapter> {
        sysfs::buses(&self.root)
    }

    fn holders(&self, bus: u32) -> Vec<BoundDevice> {
        sysfs::holders(&self.root, bus)
    }

    fn functions(&self, bus: u32) -> Result<Functions, I2cError> {
        // Transfers need read and write access; this reports a lack of either.
        let file = File::options().read(true).write(true).open(self.path(bus)).map_err(I2cError::of_open)?;
        ioctl::i2c_functions(&file).map(Functions).map_err(I2cError::Other)
    }

    fn perform(
        &self,
        bus: u32,
        address: I2cAddress,
        way: TransferKind,
        write: &[u8],
        read: &mut [u8],
    ) -> Result<(), I2cError> {
        // I2C_SLAVE refuses an address that a driver has; I2C_RDWR on the bus (LinuxI2CBus) would not check.
        let mut device = LinuxI2CDevice::new(self.path(bus), address.number().into()).map_err(|fault| {
            match io::Error::from(fault) {
                fault if fault.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => I2cError::Held,
                fault => I2cError::of_open(fault),
            }
        })?;
        let begun = Instant::now();
        transfer(&mut device, way, write, read).map_err(|fault| I2cError::of_transfer(fault.into(), begun.elapsed()))
    }
}

fn transfer(
    device: &mut LinuxI2CDevice,
    way: TransferKind,
    write: &[u8],
    read: &mut [u8],
) -> Result<(), LinuxI2CError> {
    match (way, write, read) {
        (TransferKind::Plain, [], read) => device.transfer(&mut [LinuxI2CMessage::read(read)]).map(drop),
        (TransferKind::Plain, write, []) => device.transfer(&mut [LinuxI2CMessage::write(write)]).map(drop),
        (TransferKind::Plain, write, read) => {
            device.transfer(&mut [LinuxI2CMessage::write(write), LinuxI2CMessage::read(read)]).map(drop)
        }
        (TransferKind::Quick, [], []) => device.smbus_write_quick(false),
        (TransferKind::ReceiveByte, [], [byte]) => device.smbus_read_byte().map(|data| *byte = data),
        (TransferKind::SendByte, [byte], []) => device.smbus_write_byte(*byte),
        (TransferKind::ReadByteData, [command], [byte]) => {
            device.smbus_read_byte_data(*command).map(|data| *byte = data)
        }
        (TransferKind::WriteByteData, [command, byte], []) => device.smbus_write_byte_data(*command, *byte),
        (TransferKind::ReadWordData, [command], [low, high]) => {
            device.smbus_read_word_data(*command).map(|word| [*low, *high] = word.to_le_bytes())
        }
        (TransferKind::WriteWordData, [command, low, high], []) => {
            device.smbus_write_word_data(*command, u16::from_le_bytes([*low, *high]))
        }
        (TransferKind::ReadBlock, [command], read) => {
            let length = u8::try_from(read.len()).map_err(|_| misfit())?;
            let data = device.smbus_read_i2c_block_data(*command, length)?;
            // An adapter may return less than requested.
            if data.len() != read.len() {
                let short = format!("{} bytes came where {} were asked for", data.len(), read.len());
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, short).into());
            }
            read.copy_from_slice(&data);
            Ok(())
        }
        (TransferKind::WriteBlock, [command, data @ ..], []) => device.smbus_write_i2c_block_data(*command, data),
        _ => Err(misfit()),
    }
}

/// A way that does not fit the bytes: an internal error.
fn misfit() -> LinuxI2CError {
    io::Error::new(io::ErrorKind::InvalidInput, "these bytes do not fit the protocol chosen for them").into()
}
