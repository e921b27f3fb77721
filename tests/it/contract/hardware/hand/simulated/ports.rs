//! The serial ports and the thermometer of the simulated board.

use crate::contract::hardware::hand::{Held, Port, Probe};
use hw::{
    onewire::simulated::{SimulatedW1, THERMOMETER},
    serial::simulated::{MODEM, SimulatedSerial},
};

pub struct Modem(pub SimulatedSerial);

impl Port for Modem {
    fn name(&self) -> &str {
        MODEM
    }
    fn send(&self, bytes: &[u8]) {
        assert_eq!(self.0.feed(MODEM, bytes), bytes.len());
    }
    fn received(&self, _count: usize) -> Vec<u8> {
        self.0.sent(MODEM).0
    }
    fn hang_up(&self) {
        self.0.unplug(MODEM, true);
    }
}

pub struct Thermometer(pub SimulatedW1);

/// Puts the thermometer back when it is dropped.
struct Back(SimulatedW1);

impl Drop for Back {
    fn drop(&mut self) {
        self.0.set(344, true);
    }
}

impl Probe for Thermometer {
    fn address(&self) -> &str {
        THERMOMETER
    }
    fn set(&self, sixteenths: i16) -> bool {
        self.0.set(sixteenths, true);
        true
    }
    fn can_fail(&self) -> bool {
        true
    }
    fn disturb(&self) -> Held {
        self.0.set(344, false);
        Box::new(Back(self.0.clone()))
    }
    fn take(&self) -> Held {
        self.0.take(THERMOMETER);
        Box::new(Back(self.0.clone()))
    }
}
