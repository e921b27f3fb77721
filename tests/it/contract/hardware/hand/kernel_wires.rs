//! I2C buses that the kernel drives: its devices, opened once more, as another process would.

use super::{Slave, Wires};
use i2cdev::{
    core::{I2CDevice, I2CMessage, I2CTransfer},
    linux::{LinuxI2CDevice, LinuxI2CMessage},
};

/// One free device on one bus, what else is there, and what is not.
pub struct KernelWires {
    pub slave: Slave,
    pub nobody: u8,
    pub held: Option<(u8, &'static str)>,
}

fn open(slave: &Slave) -> LinuxI2CDevice {
    LinuxI2CDevice::new(format!("/dev/i2c-{}", slave.bus), slave.address.into())
        .expect("the bus opens, the device is free")
}

impl Wires for KernelWires {
    fn slaves(&self) -> &[Slave] {
        std::slice::from_ref(&self.slave)
    }
    fn nobody(&self) -> (u8, u8) {
        (self.slave.bus, self.nobody)
    }
    fn held(&self) -> Option<(u8, u8, &'static str)> {
        self.held.map(|(address, driver)| (self.slave.bus, address, driver))
    }
    fn put(&self, slave: &Slave, register: u8, [first, second]: [u8; 2]) {
        let mut device = open(slave);
        if slave.plain {
            device.write(&[register, first, second]).expect("the device takes it");
        } else {
            device.smbus_write_i2c_block_data(register, &[first, second]).expect("the device takes it");
        }
    }
    fn get(&self, slave: &Slave, register: u8) -> [u8; 2] {
        let (mut device, mut bytes) = (open(slave), [0; 2]);
        if slave.plain {
            let register = [register];
            let mut messages = [LinuxI2CMessage::write(&register), LinuxI2CMessage::read(&mut bytes)];
            device.transfer(&mut messages).expect("the device answers");
            bytes
        } else {
            let read = device.smbus_read_i2c_block_data(register, 2).expect("the device answers");
            read.try_into().expect("two bytes")
        }
    }
}
