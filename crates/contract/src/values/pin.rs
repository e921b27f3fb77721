//! A GPIO of the 40-pin header, by number.
//!
//! Sources: Raspberry Pi documentation, "GPIO and the 40-pin header"; "BCM2835 ARM Peripherals", table 6-31.

use super::Pull;

/// A GPIO of the header by its Broadcom number, always 0-27.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pin(u8);

/// There is no such pin on the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no GPIO {0} on the 40-pin header; it has 0 to 27")]
pub struct PinError(pub u64);

impl TryFrom<u64> for Pin {
    type Error = PinError;
    fn try_from(number: u64) -> Result<Self, PinError> {
        u8::try_from(number).ok().filter(|number| *number <= Self::LAST).map(Self).ok_or(PinError(number))
    }
}

impl Pin {
    const LAST: u8 = 27;

    /// Every pin, in order.
    pub fn all() -> impl Iterator<Item = Pin> {
        (0..=Self::LAST).map(Pin)
    }
    /// The Broadcom number, 0-27.
    pub const fn bcm(self) -> u8 {
        self.0
    }
    /// The contact on the 40-pin header, 1-40.
    pub fn header(self) -> u8 {
        CONTACTS[usize::from(self.0)]
    }
    /// The pin at `contact` of the header; `None` for power, ground and numbers that are not contacts.
    pub fn at_contact(contact: u8) -> Option<Pin> {
        Pin::all().find(|pin| pin.header() == contact)
    }
    /// The pull of the pin from power-on until it is changed. The same on all three chips: "BCM2835 ARM Peripherals",
    /// table 6-31; "BCM2711 ARM Peripherals", table 93; "RP1 Peripherals", PADS_BANK0. It does not include the boards'
    /// own resistors: GPIO 2 and 3 have 1.8 kOhm to 3.3 V except on the Compute Modules.
    pub const fn pull_at_power_on(self) -> Pull {
        if self.0 <= 8 { Pull::Up } else { Pull::Down }
    }
    /// GPIO 0 and 1 are reserved: the identification EEPROM of an add-on board is read through them at boot.
    pub const fn is_reserved(self) -> bool {
        self.0 <= 1
    }
}

/// The contact of each pin.
const CONTACTS: [u8; 28] =
    [27, 28, 3, 5, 7, 29, 31, 26, 24, 21, 19, 23, 32, 33, 8, 10, 36, 11, 12, 35, 38, 40, 15, 16, 18, 22, 37, 13];
