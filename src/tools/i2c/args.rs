//! Shared arguments of these tools: enforces their limits in the parser.

use contract::{config::HIGHEST_I2C_BUS, values::I2cAddress};
use serde::{Deserialize, Deserializer, de::Error};

/// Most bytes of one transfer in each direction (docs/contract/i2c.md; an SMBus block).
pub const BYTES: usize = hw::i2c::BLOCK;
/// Largest 7-bit address in answers. Arguments accept device addresses only, [`LOWEST`] to [`HIGHEST`].
pub const ADDRESS: u8 = 127;
pub use hw::i2c::{HIGHEST, LOWEST};

pub fn bus<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        bus if bus <= HIGHEST_I2C_BUS => Ok(bus),
        bus => Err(D::Error::custom(format!("bus {bus} where 0 to {HIGHEST_I2C_BUS} are possible"))),
    }
}

pub fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<I2cAddress, D::Error> {
    let number = u8::deserialize(deserializer)?;
    let reserved = || D::Error::custom(format!("address {number} where {LOWEST} to {HIGHEST} are those of devices"));
    I2cAddress::new(number).ok_or_else(reserved)
}

pub fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        length if (1..=BYTES).contains(&length.into()) => Ok(length),
        length => Err(D::Error::custom(format!("length {length} where 1 to {BYTES} are allowed"))),
    }
}
