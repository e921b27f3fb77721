//! Arguments that these tools share: the parser's half of their bounds.

use crate::config::HIGHEST_I2C_BUS;
use serde::{Deserialize, Deserializer, de::Error};

/// Most bytes of one transfer in either direction (document 000, section 6.2; an SMBus block).
pub const BYTES: usize = crate::hw::i2c::BLOCK;
/// 7 bits.
pub const ADDRESS: u8 = 127;

pub fn bus<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        bus if bus <= HIGHEST_I2C_BUS => Ok(bus),
        bus => Err(D::Error::custom(format!("bus {bus} where 0 to {HIGHEST_I2C_BUS} are possible"))),
    }
}

pub fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        address if address <= ADDRESS => Ok(address),
        address => Err(D::Error::custom(format!("address {address} where 0 to {ADDRESS} are possible"))),
    }
}

pub fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        length if (1..=BYTES).contains(&length.into()) => Ok(length),
        length => Err(D::Error::custom(format!("length {length} where 1 to {BYTES} are allowed"))),
    }
}

pub fn data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let data = Vec::<u8>::deserialize(deserializer)?;
    match data.len() {
        count if (1..=BYTES).contains(&count) => Ok(data),
        count => Err(D::Error::custom(format!("{count} bytes where 1 to {BYTES} are allowed"))),
    }
}
