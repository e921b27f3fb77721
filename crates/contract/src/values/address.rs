//! Addresses of devices on an I2C bus, single and in sets: 7 bits, without the addresses that the specification
//! reserves.
//!
//! UM10204 (I2C-bus specification), section 3.1.12: 0x00-0x07 and 0x78-0x7f do not address a device.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

/// The lowest and highest address a device may have.
pub const LOWEST: u8 = 0x08;
pub const HIGHEST: u8 = 0x77;

/// The address of a device, 0x08 to 0x77, without the direction bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct I2cAddress(u8);

impl I2cAddress {
    /// `None` for a reserved address or one of more than 7 bits.
    pub fn new(number: u8) -> Option<Self> {
        (LOWEST..=HIGHEST).contains(&number).then_some(Self(number))
    }
    pub const fn number(self) -> u8 {
        self.0
    }
    /// All addresses, ascending.
    pub fn all() -> impl Iterator<Item = Self> {
        (LOWEST..=HIGHEST).map(Self)
    }
}

/// The usual notation, `0x48`.
impl fmt::Display for I2cAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}", self.0)
    }
}

/// A set of addresses, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses(u128);

impl Addresses {
    /// Every address a device may have.
    pub fn every() -> Self {
        I2cAddress::all().collect()
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub const fn holds(self, address: I2cAddress) -> bool {
        self.0 >> address.0 & 1 == 1
    }
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
    /// Ascending.
    pub fn iter(self) -> impl Iterator<Item = I2cAddress> {
        I2cAddress::all().filter(move |address| self.holds(*address))
    }

    /// `0x48`, or `0x50-0x57` with both ends.
    ///
    /// # Errors
    /// What is wrong with the text, for its author.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("\"{}\" is no address like \"0x48\" and no range like \"0x50-0x57\"", text.escape_debug());
        let one = |text: &str| {
            let digits = text.strip_prefix("0x").filter(|digits| (1..=2).contains(&digits.len())).ok_or_else(bad)?;
            // `from_str_radix` accepts a sign.
            let number = digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16));
            let number = number.and_then(Result::ok).ok_or_else(bad)?;
            I2cAddress::new(number).ok_or_else(|| format!("{text} is reserved; devices have 0x08 to 0x77"))
        };
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (one(first)?, one(last)?),
            None => (one(text)?, one(text)?),
        };
        if first > last {
            return Err(format!("{text} ends before it begins"));
        }
        Ok((first.0..=last.0).filter_map(I2cAddress::new).collect())
    }

    /// In the form that [`Addresses::parse`] reads, with adjacent addresses as one range.
    pub fn ranges(self) -> Vec<String> {
        let mut ranges: Vec<(I2cAddress, I2cAddress)> = Vec::new();
        for address in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if last.0 + 1 == address.0 => *last = address,
                _ => ranges.push((address, address)),
            }
        }
        let shown = |(first, last): (I2cAddress, I2cAddress)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        ranges.into_iter().map(shown).collect()
    }
}

impl FromIterator<I2cAddress> for Addresses {
    fn from_iter<T: IntoIterator<Item = I2cAddress>>(all: T) -> Self {
        Self(all.into_iter().fold(0, |bits, address| bits | 1 << address.0))
    }
}

impl Serialize for Addresses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.ranges().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ranges = Vec::<String>::deserialize(deserializer)?;
        let all = ranges.iter().map(|range| Self::parse(range).map_err(D::Error::custom));
        all.reduce(|all, more| Ok(all?.and(more?))).unwrap_or_else(|| Ok(Self::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_and_written_the_same_way() {
        for text in ["0x48", "0x50-0x57", "0x08-0x77"] {
            assert_eq!(Addresses::parse(text).unwrap().ranges(), [text]);
        }
        let some = Addresses::parse("0x48").unwrap().and(Addresses::parse("0x49-0x4b").unwrap());
        assert_eq!(some.and(Addresses::parse("0x20").unwrap()).ranges(), ["0x20", "0x48-0x4b"]);
        assert_eq!(Addresses::parse("0x50-0x50").unwrap().ranges(), ["0x50"]);
        assert_eq!(Addresses::every().iter().count(), 112);
        let json = serde_json::json!(["0x20", "0x48-0x4b"]);
        assert_eq!(serde_json::to_value(serde_json::from_value::<Addresses>(json.clone()).unwrap()).unwrap(), json);
    }

    #[test]
    fn what_is_none_is_refused_and_says_why() {
        for text in ["", "72", "48", "0x", "0x+8", "0x048", "0x4g", "0x48-", "-0x48", "0x48-0x49-0x4a", " 0x48", "0X48"]
        {
            assert!(Addresses::parse(text).unwrap_err().contains("is no address"), "{text}");
        }
        for text in ["0x07", "0x78", "0x00-0x77", "0x08-0x78", "0x80", "0xff"] {
            assert!(Addresses::parse(text).unwrap_err().contains("reserved"), "{text}");
        }
        assert!(Addresses::parse("0x50-0x48").unwrap_err().contains("ends before it begins"));
    }

    #[test]
    fn devices_have_no_reserved_address() {
        let all: Vec<u8> = (0..=255).filter(|number| I2cAddress::new(*number).is_some()).collect();
        assert_eq!((all.first(), all.last(), all.len()), (Some(&0x08), Some(&0x77), 112));
    }
}
