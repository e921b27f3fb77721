//! The buses of the simulated board: the header's, and one of SMBus alone that the hand plugs in.

use crate::contract::hardware::hand::{Slave, Wires};
use hw::i2c::simulated::{Buses, SMBUS};

pub struct Simulated {
    buses: Buses,
    slaves: [Slave; 2],
}

impl Simulated {
    pub fn new(buses: Buses) -> Self {
        buses.add(11, "SMBus stub driver", SMBUS);
        let header = Slave { bus: 1, address: 0x48, adapter: "bcm2835", plain: true };
        Self { buses, slaves: [header, Slave { bus: 11, adapter: "SMBus stub", plain: false, ..header }] }
    }
}

impl Wires for Simulated {
    fn slaves(&self) -> &[Slave] {
        &self.slaves
    }
    fn nobody(&self) -> (u8, u8) {
        (1, 0x49)
    }
    fn held(&self) -> Option<(u8, u8, &'static str)> {
        Some((1, 0x68, "rtc-ds1307"))
    }
    fn put(&self, slave: &Slave, register: u8, bytes: [u8; 2]) {
        self.buses.set_register(slave.bus.into(), slave.address, register, bytes);
    }
    fn get(&self, slave: &Slave, register: u8) -> [u8; 2] {
        self.buses.register(slave.bus.into(), slave.address, register).expect("it is connected")
    }
}
