//! The formats that this program's schemas use (JSON Schema 2020-12, section 7.3).

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringFormat {
    DateTime,
    Ipv4,
    Ipv6,
    Uuid,
}

const NAMES: [(&str, StringFormat); 4] = [
    ("date-time", StringFormat::DateTime),
    ("ipv4", StringFormat::Ipv4),
    ("ipv6", StringFormat::Ipv6),
    ("uuid", StringFormat::Uuid),
];

impl StringFormat {
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    pub(super) fn has(self, text: &str) -> bool {
        match self {
            Self::DateTime => base::clock::parse(text).is_ok(),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Uuid => {
                text.len() == 36
                    && text.bytes().enumerate().all(|(n, byte)| match n {
                        8 | 13 | 18 | 23 => byte == b'-',
                        _ => byte.is_ascii_hexdigit(),
                    })
            }
        }
    }
}
