//! What a device is by its family code, and which file of its driver is read.
//!
//! Sources: Maxim's application note 155 (codes); the kernel's Documentation/w1/slaves and drivers/w1/slaves (files). Only
//! files whose reading changes nothing are named: not `rw`, which is the bus itself, nor `activity`, nor `counter` resets.

/// One family.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    pub code: u8,
    /// Its parts.
    pub parts: &'static str,
    pub kind: W1Kind,
    /// The file that is read; `None`: nothing is.
    pub file: Option<&'static str>,
}

impl Family {
    /// Its first part, as Linux writes names of chips: `ds18b20`.
    pub fn chip(&self) -> String {
        self.parts.split([',', ' ']).next().unwrap_or_default().to_ascii_lowercase()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum W1Kind {
    Thermometer,
    Other,
}

const fn thermometer(code: u8, parts: &'static str) -> Family {
    Family { code, parts, kind: W1Kind::Thermometer, file: Some("w1_slave") }
}

const fn other(code: u8, parts: &'static str, file: Option<&'static str>) -> Family {
    Family { code, parts, kind: W1Kind::Other, file }
}

static FAMILIES: &[Family] = &[
    other(0x01, "DS1990A, DS2401 serial number", Some("id")),
    other(0x05, "DS2405 switch", None),
    thermometer(0x10, "DS18S20, DS1820 thermometer"),
    other(0x12, "DS2406 switch", Some("state")),
    other(0x19, "DS28E17 bridge to I2C", None),
    other(0x1d, "DS2423 counter", None),
    thermometer(0x22, "DS1822 thermometer"),
    other(0x23, "DS2433 memory of 512 bytes", Some("eeprom")),
    other(0x26, "DS2438 battery monitor", None),
    thermometer(0x28, "DS18B20 thermometer"),
    other(0x29, "DS2408 switch of eight channels", Some("state")),
    other(0x2d, "DS2431 memory of 128 bytes", Some("eeprom")),
    other(0x3a, "DS2413 switch of two channels", Some("state")),
    thermometer(0x3b, "DS1825, MAX31826, MAX31850 thermometer"),
    thermometer(0x42, "DS28EA00 thermometer"),
    other(0x43, "DS28EC20 memory of 2560 bytes", Some("eeprom")),
];

/// Whether it is an address as the kernel writes it: two and twelve digits of `[0-9a-f]`.
pub fn is_address(text: &str) -> bool {
    let digits = |part: &str, count| {
        part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    text.split_once('-').is_some_and(|(code, id)| digits(code, 2) && digits(id, 12))
}

/// The family of a device, if it is a thermometer.
pub fn thermometer_family(address: &str) -> Option<&'static Family> {
    family(address).filter(|family| is_address(address) && family.kind == W1Kind::Thermometer)
}

/// The family of an address.
pub fn family(address: &str) -> Option<&'static Family> {
    let code = u8::from_str_radix(address.get(..2)?, 16).ok()?;
    FAMILIES.iter().find(|family| family.code == code)
}
