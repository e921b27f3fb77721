//! An adapter's functionality, and the way that serves a request.
//!
//! Sources: the kernel's Documentation/i2c/functionality.rst (the bits), smbus-protocol.rst (the wire format of each
//! way).

/// The result of `I2C_FUNCS`: bits of `linux/i2c.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Functions(pub u32);

impl Functions {
    /// `I2C_FUNC_I2C`: any messages, with repeated starts.
    pub const I2C: Self = Self(0x0000_0001);
    pub const QUICK: Self = Self(0x0001_0000);
    pub const READ_BYTE: Self = Self(0x0002_0000);
    pub const WRITE_BYTE: Self = Self(0x0004_0000);
    pub const READ_BYTE_DATA: Self = Self(0x0008_0000);
    pub const WRITE_BYTE_DATA: Self = Self(0x0010_0000);
    pub const READ_WORD_DATA: Self = Self(0x0020_0000);
    pub const WRITE_WORD_DATA: Self = Self(0x0040_0000);
    pub const READ_I2C_BLOCK: Self = Self(0x0400_0000);
    pub const WRITE_I2C_BLOCK: Self = Self(0x0800_0000);

    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
    pub const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// The names of functionality.rst without `I2C_FUNC_`, in lower case; both directions of one protocol as one name.
    pub fn names(self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for (bits, name, parts) in NAMES {
            if self.has(Self(*bits)) {
                names.push(*name);
            } else {
                names.extend(parts.iter().filter(|(bit, _)| self.has(Self(*bit))).map(|(_, name)| *name));
            }
        }
        names
    }

    /// The way to write `write` bytes, then read `read` bytes in one transfer; either may be 0. Plain I2C if the
    /// adapter has it, otherwise the SMBus protocol with the same wire format.
    ///
    /// # Errors
    /// The missing functionality, when there is no such way. What an SMBus adapter cannot do in one transfer is not
    /// split into several: to a device that is something else.
    pub fn way(self, write: usize, read: usize) -> Result<TransferKind, Lack> {
        let smbus: &[(Self, TransferKind)] = match (write, read) {
            _ if self.has(Self::I2C) => return Ok(TransferKind::Plain),
            (0, 1) => &[(Self::READ_BYTE, TransferKind::ReceiveByte)],
            (1, 0) => &[(Self::WRITE_BYTE, TransferKind::SendByte)],
            (1, 1) => {
                &[(Self::READ_BYTE_DATA, TransferKind::ReadByteData), (Self::READ_I2C_BLOCK, TransferKind::ReadBlock)]
            }
            // Block first: emulated adapters (i2c-stub) store bytes and words separately.
            (1, 2) => {
                &[(Self::READ_I2C_BLOCK, TransferKind::ReadBlock), (Self::READ_WORD_DATA, TransferKind::ReadWordData)]
            }
            (1, 3..=BLOCK) => &[(Self::READ_I2C_BLOCK, TransferKind::ReadBlock)],
            (2, 0) => &[
                (Self::WRITE_BYTE_DATA, TransferKind::WriteByteData),
                (Self::WRITE_I2C_BLOCK, TransferKind::WriteBlock),
            ],
            (3, 0) => &[
                (Self::WRITE_I2C_BLOCK, TransferKind::WriteBlock),
                (Self::WRITE_WORD_DATA, TransferKind::WriteWordData),
            ],
            // The first byte is the command.
            (4..=33, 0) => &[(Self::WRITE_I2C_BLOCK, TransferKind::WriteBlock)],
            _ => &[],
        };
        match smbus.iter().find(|(needs, _)| self.has(*needs)) {
            Some((_, way)) => Ok(*way),
            None => Err(Lack([Self::I2C].into_iter().chain(smbus.iter().map(|(needs, _)| *needs)).collect())),
        }
    }

    /// The probe for an address, by i2cdetect's rules: quick write, except for ranges where that is known to write to
    /// EEPROMs (0x30-0x37, 0x50-0x5f), which are read instead. An adapter without quick write reads everywhere, like
    /// `i2cdetect -r`; one that cannot read skips those. `None`: this address is not probed.
    pub fn probe(self, address: u8) -> Option<TransferKind> {
        let reads = matches!(address, 0x30..=0x37 | 0x50..=0x5f) || !self.has(Self::QUICK);
        match reads {
            false => Some(TransferKind::Quick),
            true => self.has(Self::READ_BYTE).then_some(TransferKind::ReceiveByte),
        }
    }
}

/// Longest SMBus block, `I2C_SMBUS_BLOCK_MAX`, in bytes; also the limit of a tool's read or write
/// (docs/contract/i2c.md).
pub const BLOCK: usize = 32;

type Part = (u32, &'static str);

const NAMES: &[(u32, &str, &[Part])] = &[
    (0x0000_0001, "i2c", &[]),
    (0x0000_0002, "10bit_addr", &[]),
    (0x0000_0008, "smbus_pec", &[]),
    (0x0001_0000, "smbus_quick", &[]),
    (0x0006_0000, "smbus_byte", &[(0x0002_0000, "smbus_read_byte"), (0x0004_0000, "smbus_write_byte")]),
    (0x0018_0000, "smbus_byte_data", &[(0x0008_0000, "smbus_read_byte_data"), (0x0010_0000, "smbus_write_byte_data")]),
    (0x0060_0000, "smbus_word_data", &[(0x0020_0000, "smbus_read_word_data"), (0x0040_0000, "smbus_write_word_data")]),
    (0x0080_0000, "smbus_proc_call", &[]),
    (
        0x0300_0000,
        "smbus_block_data",
        &[(0x0100_0000, "smbus_read_block_data"), (0x0200_0000, "smbus_write_block_data")],
    ),
    (0x0c00_0000, "smbus_i2c_block", &[(0x0400_0000, "smbus_read_i2c_block"), (0x0800_0000, "smbus_write_i2c_block")]),
];

/// One way of an adapter, with its wire format as in smbus-protocol.rst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// I2C messages, with a repeated start between them.
    Plain,
    /// `S Addr Wr [A] P`
    Quick,
    /// `S Addr Rd [A] [Data] NA P`
    ReceiveByte,
    /// `S Addr Wr [A] Data [A] P`
    SendByte,
    /// `S Addr Wr [A] Comm [A] Sr Addr Rd [A] [Data] NA P`
    ReadByteData,
    /// `S Addr Wr [A] Comm [A] Data [A] P`
    WriteByteData,
    /// Like the byte, with two: the low one comes first.
    ReadWordData,
    WriteWordData,
    /// Like the byte, with up to 32; no count is transferred.
    ReadBlock,
    WriteBlock,
}

/// The missing functionality: any one of these would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack(pub Vec<Functions>);

impl Lack {
    /// "i2c, smbus_read_i2c_block".
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().flat_map(|functions| functions.names()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `i2cdetect -F` of a Raspberry Pi's i2c-bcm2835: I2C and all emulated SMBus but the read block.
    const BCM2835: Functions = Functions(0x0eff_0009);
    /// i2c-stub as it loads: quick, byte, byte data, word data, I2C block.
    const STUB: Functions = Functions(0x0c7f_0000);

    #[test]
    fn plain_i2c_wherever_there_is_any() {
        for (write, read) in [(0, 1), (0, 32), (1, 0), (1, 1), (33, 0), (32, 32)] {
            assert_eq!(BCM2835.way(write, read), Ok(TransferKind::Plain), "{write} {read}");
            assert_eq!(Functions::I2C.way(write, read), Ok(TransferKind::Plain), "{write} {read}");
        }
    }

    #[test]
    fn smbus_where_it_puts_the_same_on_the_wire() {
        for (write, read, way) in [
            (0, 1, TransferKind::ReceiveByte),
            (1, 0, TransferKind::SendByte),
            (1, 1, TransferKind::ReadByteData),
            (1, 2, TransferKind::ReadBlock),
            (1, 32, TransferKind::ReadBlock),
            (2, 0, TransferKind::WriteByteData),
            (3, 0, TransferKind::WriteBlock),
            (33, 0, TransferKind::WriteBlock),
        ] {
            assert_eq!(STUB.way(write, read), Ok(way), "{write} {read}");
        }
        let words = Functions::READ_WORD_DATA.and(Functions::WRITE_WORD_DATA);
        assert_eq!(
            (words.way(1, 2), words.way(3, 0)),
            (Ok(TransferKind::ReadWordData), Ok(TransferKind::WriteWordData))
        );
        let blocks = Functions::READ_I2C_BLOCK.and(Functions::WRITE_I2C_BLOCK);
        assert_eq!((blocks.way(1, 1), blocks.way(2, 0)), (Ok(TransferKind::ReadBlock), Ok(TransferKind::WriteBlock)));
    }

    #[test]
    fn what_smbus_cannot_say_in_one_breath_is_lacking() {
        for (write, read) in [(0, 2), (0, 32), (2, 1), (32, 32), (34, 0), (1, 33), (0, 0)] {
            assert_eq!(STUB.way(write, read).unwrap_err().names(), ["i2c"], "{write} {read}");
        }
        assert_eq!(
            Functions(0).way(1, 2).unwrap_err().names(),
            ["i2c", "smbus_read_i2c_block", "smbus_read_word_data"]
        );
        assert_eq!(Functions::READ_BYTE.way(1, 0).unwrap_err().names(), ["i2c", "smbus_write_byte"]);
    }

    #[test]
    fn i2cdetects_rules() {
        let ways = |functions: Functions| (0x08..=0x77).map(move |address| (address, functions.probe(address)));
        let reading = |address: u8| (0x30..=0x37).contains(&address) || (0x50..=0x5f).contains(&address);
        for (address, way) in ways(BCM2835) {
            assert_eq!(
                way,
                Some(if reading(address) { TransferKind::ReceiveByte } else { TransferKind::Quick }),
                "{address:#x}"
            );
        }
        assert!(ways(Functions::READ_BYTE).all(|(_, way)| way == Some(TransferKind::ReceiveByte)));
        for (address, way) in ways(Functions::QUICK) {
            assert_eq!(way, (!reading(address)).then_some(TransferKind::Quick), "{address:#x}");
        }
        assert!(ways(Functions::I2C).all(|(_, way)| way.is_none()));
    }

    #[test]
    fn names_are_the_kernels() {
        assert_eq!(
            STUB.names(),
            ["smbus_quick", "smbus_byte", "smbus_byte_data", "smbus_word_data", "smbus_i2c_block"]
        );
        assert_eq!(
            BCM2835.names(),
            [
                "i2c",
                "smbus_pec",
                "smbus_quick",
                "smbus_byte",
                "smbus_byte_data",
                "smbus_word_data",
                "smbus_proc_call",
                "smbus_write_block_data",
                "smbus_i2c_block"
            ]
        );
    }
}
