//! The purpose of a signature.

/// The kind of document; it is part of the signed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A bundle's manifest.
    Release,
    /// A channel's index of releases.
    Channel,
    /// A root of trust.
    Root,
}

impl Purpose {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Channel => "channel",
            Self::Root => "root",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Release, Self::Channel, Self::Root].into_iter().find(|purpose| purpose.name() == name)
    }

    /// The signed bytes: `raspi-mcp NAME 1`, a zero byte, and `bytes`.
    pub fn message(self, bytes: &[u8]) -> Vec<u8> {
        [b"raspi-mcp ".as_slice(), self.name().as_bytes(), b" 1\0", bytes].concat()
    }
}
