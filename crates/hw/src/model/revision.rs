//! Revision codes: the exact board, encoded in one number.
//!
//! Source: Raspberry Pi documentation, "Raspberry Pi revision codes", new-style codes `NOQuuuWuFMMMCCCCPPPPTTTTTTTTRRRR`.

use std::str::FromStr;

/// A decoded new-style code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    pub code: u32,
    /// `4B`, `Zero 2 W`; `None` for a type newer than this table.
    pub kind: Option<&'static str>,
    /// The number after the dot in `Rev 1.4`.
    pub number: u8,
    /// `BCM2711`; `None` for a processor newer than this table.
    pub processor: Option<&'static str>,
    pub manufacturer: Option<&'static str>,
    /// Memory in MiB; `None` where the code says "other".
    pub memory_mib: Option<u32>,
}

/// Why a code was not decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    #[error("the revision code '{0}' is no hexadecimal number of 32 bits")]
    NotANumber(String),
    /// Boards before the Raspberry Pi 2 have plain serial codes, 0002 to 0015; none of them can run this server.
    #[error("the revision code {0:04x} is an old-style one, of a board made before 2015")]
    OldStyle(u32),
}

/// Bit 23 marks a new-style code. Check it before any other bit.
const NEW_STYLE: u32 = 1 << 23;

const TYPES: [(u32, &str); 24] = [
    (0x00, "A"),
    (0x01, "B"),
    (0x02, "A+"),
    (0x03, "B+"),
    (0x04, "2B"),
    (0x05, "Alpha"),
    (0x06, "CM1"),
    (0x08, "3B"),
    (0x09, "Zero"),
    (0x0a, "CM3"),
    (0x0c, "Zero W"),
    (0x0d, "3B+"),
    (0x0e, "3A+"),
    (0x10, "CM3+"),
    (0x11, "4B"),
    (0x12, "Zero 2 W"),
    (0x13, "400"),
    (0x14, "CM4"),
    (0x15, "CM4S"),
    (0x17, "5"),
    (0x18, "CM5"),
    (0x19, "500"),
    (0x1a, "CM5 Lite"),
    (0x1b, "CM0"),
];
const PROCESSORS: [&str; 5] = ["BCM2835", "BCM2836", "BCM2837", "BCM2711", "BCM2712"];
const MANUFACTURERS: [&str; 6] = ["Sony UK", "Egoman", "Embest", "Sony Japan", "Embest", "Stadium"];

impl Revision {
    /// # Errors
    /// [`RevisionError::OldStyle`] without the new-style bit.
    pub fn decode(code: u32) -> Result<Self, RevisionError> {
        if code & NEW_STYLE == 0 {
            return Err(RevisionError::OldStyle(code));
        }
        let field = |first: u32, bits: u32| (code >> first) & ((1 << bits) - 1);
        let memory = field(20, 3);
        Ok(Self {
            code,
            kind: TYPES.iter().find(|(number, _)| *number == field(4, 8)).map(|(_, name)| *name),
            number: (code & 0xf) as u8,
            processor: PROCESSORS.get(field(12, 4) as usize).copied(),
            manufacturer: MANUFACTURERS.get(field(16, 4) as usize).copied(),
            // 256 MiB shifted left by the code; 7 means "other".
            memory_mib: (memory < 7).then(|| 256 << memory),
        })
    }
}

impl FromStr for Revision {
    type Err = RevisionError;
    fn from_str(text: &str) -> Result<Self, RevisionError> {
        let code = u32::from_str_radix(text, 16).map_err(|_| RevisionError::NotANumber(text.to_owned()))?;
        Self::decode(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the documentation's table "New-style revision codes in use".
    #[test]
    fn codes_in_use() {
        for (code, kind, number, memory, maker, processor) in [
            ("a02082", "3B", 2, 1024, "Sony UK", "BCM2837"),
            ("a52082", "3B", 2, 1024, "Stadium", "BCM2837"),
            ("a020d3", "3B+", 3, 1024, "Sony UK", "BCM2837"),
            ("902120", "Zero 2 W", 0, 512, "Sony UK", "BCM2837"),
            ("c03111", "4B", 1, 4096, "Sony UK", "BCM2711"),
            ("d03115", "4B", 5, 8192, "Sony UK", "BCM2711"),
            ("b03140", "CM4", 0, 2048, "Sony UK", "BCM2711"),
            ("c03130", "400", 0, 4096, "Sony UK", "BCM2711"),
            ("e04171", "5", 1, 16384, "Sony UK", "BCM2712"),
            ("d04190", "500", 0, 8192, "Sony UK", "BCM2712"),
        ] {
            let revision: Revision = code.parse().unwrap();
            assert_eq!(
                (revision.kind, revision.number, revision.memory_mib, revision.manufacturer, revision.processor),
                (Some(kind), number, Some(memory), Some(maker), Some(processor)),
                "{code}"
            );
        }
    }

    #[test]
    fn warranty_and_overvoltage_bits_change_nothing() {
        let plain: Revision = "a02082".parse().unwrap();
        let marked: Revision = "82a02082".parse().unwrap();
        assert_eq!(Revision { code: 0, ..plain }, Revision { code: 0, ..marked });
    }

    #[test]
    fn a_code_newer_than_the_table_is_not_guessed() {
        let newer = Revision::decode(NEW_STYLE | 7 << 20 | 15 << 16 | 15 << 12 | 0xff << 4 | 3).unwrap();
        assert_eq!((newer.kind, newer.processor, newer.manufacturer, newer.memory_mib), (None, None, None, None));
        assert_eq!(newer.number, 3);
    }

    #[test]
    fn old_and_malformed() {
        assert_eq!("000e".parse::<Revision>(), Err(RevisionError::OldStyle(0xe)));
        for bad in ["", "BCM2835", "1ffffffff"] {
            assert_eq!(bad.parse::<Revision>(), Err(RevisionError::NotANumber(bad.into())));
        }
    }
}
