//! The header of the simulated board.

use crate::contract::hardware::hand::{Held, Lines};
use contract::values::Pin;
use hw::{gpio::SimulatedGpio, line::Level};

pub struct Simulated(pub SimulatedGpio);

fn pin(number: u8) -> Pin {
    Pin::try_from(u64::from(number)).expect("a pin of the header")
}

impl Lines for Simulated {
    fn free(&self) -> &[u8] {
        &[17, 22, 23, 24]
    }
    fn forbidden(&self) -> Option<u8> {
        Some(25)
    }
    fn safe_high(&self) -> u8 {
        26
    }
    fn can_drive(&self) -> bool {
        true
    }
    fn can_pull(&self) -> bool {
        true
    }
    fn functions(&self) -> &[(u8, &'static str)] {
        &[(2, "SDA1"), (3, "SCL1"), (14, "TXD1"), (15, "RXD1")]
    }
    fn drive(&self, number: u8, high: bool) {
        self.0.drive(pin(number), Some(Level::of(high)));
    }
    fn let_go(&self, number: u8) {
        self.0.drive(pin(number), None);
    }
    fn level(&self, number: u8) -> Option<bool> {
        Some(self.0.level(pin(number)).is_high())
    }
    fn hold(&self, number: u8, consumer: &str) -> Held {
        Box::new(self.0.hold(pin(number), consumer).expect("a free line"))
    }
}
