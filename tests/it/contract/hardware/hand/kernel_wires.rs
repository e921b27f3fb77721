//! Devices on buses that the kernel drives: their registers, by SMBus, as another program would.

use super::{Slave, Wires};
use i2cdev::{core::I2CDevice, linux::LinuxI2CDevice};

/// Thermometers of the LM75 family.
pub struct KernelWires {
    /// One that tools may reach.
    pub slave: Slave,
    /// An address where nothing is.
    pub nobody: u8,
    /// One that a driver of the kernel has.
    pub held: u8,
}

impl KernelWires {
    fn open(slave: &Slave) -> LinuxI2CDevice {
        let path = format!("/dev/i2c-{}", slave.bus);
        LinuxI2CDevice::new(&path, slave.address.into()).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

impl Wires for KernelWires {
    fn slaves(&self) -> &[Slave] {
        std::slice::from_ref(&self.slave)
    }
    fn nobody(&self) -> (u8, u8) {
        (self.slave.bus, self.nobody)
    }
    fn held(&self) -> (u8, u8) {
        (self.slave.bus, self.held)
    }
    // SMBus sends the low byte of a word first.
    fn put(&self, slave: &Slave, register: u8, bytes: [u8; 2]) {
        Self::open(slave).smbus_write_word_data(register, u16::from_le_bytes(bytes)).expect("the register takes it");
    }
    fn get(&self, slave: &Slave, register: u8) -> [u8; 2] {
        Self::open(slave).smbus_read_word_data(register).expect("the register answers").to_le_bytes()
    }
}
