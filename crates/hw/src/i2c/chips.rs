//! The table of chips, by address: text in `chips.txt`, read when it is asked. It has the chips by the addresses at which they are
//! usually found: what `i2c.identify` knows. One line a chip, six columns:
//!
//! ```text
//! chip | addresses | what it is | identity | overlay | source
//! ```
//!
//! - identity: `-` has no register that tells it apart. `d0=60` is one that does: a register and the bytes it holds, in hexadecimal;
//!   `/f8` after them is a mask, `+` joins registers that must all fit. Reading a register writes its number first, so these are
//!   registers whose reading clears nothing and whose number is no command. `!` takes a written byte as a command or a level: at its
//!   addresses no register is read, whatever other chips are found there, unless the caller insists. Multiplexers and displays that can
//!   be at 0x76 and 0x77 too are `-` there: the channels that a register number selects are selected again before each use.
//! - overlay: the argument of `dtoverlay=` in config.txt that gives it a kernel driver (arch/arm/boot/dts/overlays/README of
//!   github.com/raspberrypi/linux), `-` for none. A last `,addr` becomes `,addr=0x..`.
//! - source: the driver of Linux that knows the identity or the addresses, or the data sheet.

use contract::values::I2cAddress;

const TABLE: &str = include_str!("chips.txt");
/// Overlays that take another bus than 1 by a word like `i2c3`, and the buses for which there is one.
const ON_OTHER_BUSES: [&str; 6] = ["i2c-sensor", "i2c-rtc", "i2c-mux", "i2c-fan", "i2c-pwm-pca9685a", "ads1115"];
const OTHER_BUSES: [u32; 5] = [0, 3, 4, 5, 6];

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    pub name: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    identity: &'static str,
    overlay: &'static str,
    /// A driver of Linux, as `linux: bmp280`, or a data sheet.
    pub source: &'static str,
}

/// A register that tells a chip apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRegister {
    pub register: u8,
    /// What it holds where `mask` is set; both as long as what is read.
    value: Vec<u8>,
    mask: Vec<u8>,
}

/// The chips that are usually found at an address, in the order of the table.
pub fn at(address: I2cAddress) -> impl Iterator<Item = Chip> {
    let columns = TABLE.lines().filter_map(columns);
    columns.filter(move |(addresses, _)| covers(addresses, address.number())).map(|(_, chip)| chip)
}

fn columns(line: &'static str) -> Option<(&'static str, Chip)> {
    let mut columns = line.split(" | ");
    let mut next = || columns.next();
    let (name, addresses, what) = (next()?, next()?, next()?);
    let chip = Chip { name, what, identity: next()?, overlay: next()?, source: next()? };
    Some((addresses, chip))
}

/// `76 77` or `70-75`
fn covers(addresses: &str, address: u8) -> bool {
    let number = |text: &str| u8::from_str_radix(text, 16).ok();
    addresses.split(' ').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        number(first).zip(number(last)).is_some_and(|(first, last)| (first..=last).contains(&address))
    })
}

impl Chip {
    /// Takes a register's number as a command.
    pub fn acts_on_reads(&self) -> bool {
        self.identity == "!"
    }

    /// The registers that tell it apart; none if there are none.
    pub fn identity(&self) -> Vec<IdentityRegister> {
        self.identity.split('+').filter_map(IdentityRegister::parse).collect()
    }

    /// The line of config.txt that gives it a kernel driver on this bus.
    pub fn overlay(&self, bus: u32, address: I2cAddress) -> Option<String> {
        let (overlay, address) = match self.overlay.strip_suffix(",addr") {
            Some(overlay) => (overlay, format!(",addr={address}")),
            None => (self.overlay, String::new()),
        };
        let first = overlay.split(',').next()?;
        let bus = match bus {
            1 => String::new(),
            bus if OTHER_BUSES.contains(&bus) && ON_OTHER_BUSES.contains(&first) => format!(",i2c{bus}"),
            _ => return None,
        };
        (overlay != "-").then(|| format!("dtoverlay={overlay}{address}{bus}"))
    }

    /// The driver of Linux, if the source is one.
    pub fn driver(&self) -> Option<&'static str> {
        self.source.strip_prefix("linux: ")
    }
}

impl IdentityRegister {
    /// `fe=5449` or `0b=c8/f8`
    fn parse(text: &str) -> Option<Self> {
        let (register, value) = text.split_once('=')?;
        let (value, mask) = value.split_once('/').map_or((value, None), |(value, mask)| (value, Some(mask)));
        let value = bytes(value)?;
        let mask = mask.map_or_else(|| Some(vec![0xff; value.len()]), bytes)?;
        let &[register] = &bytes(register)?[..] else { return None };
        (value.len() == mask.len()).then_some(Self { register, value, mask })
    }

    /// How many bytes are read.
    pub fn length(&self) -> usize {
        self.value.len()
    }

    /// Whether what was read is what the chip holds.
    pub fn fits(&self, read: &[u8]) -> bool {
        read.len() == self.length()
            && read.iter().zip(&self.mask).zip(&self.value).all(|((read, mask), value)| read & mask == *value)
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_whole() {
        let address = |number| I2cAddress::new(number).unwrap();
        let mut before: Vec<(&str, &str)> = Vec::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.split(" | ").count(), 6, "{line}");
            let (addresses, chip) = columns(line).unwrap();
            let found: Vec<u8> = (8..=0x77).filter(|number| covers(addresses, *number)).collect();
            let parts =
                addresses.split([' ', '-']).all(|part| u8::from_str_radix(part, 16).is_ok_and(|n| found.contains(&n)));
            assert!(!found.is_empty() && parts, "{line}");
            assert!(at(address(found[0])).any(|known| known == chip), "{line}");
            assert!(!chip.name.is_empty() && !chip.what.is_empty(), "{line}");
            let count = match chip.identity {
                "-" | "!" => 0,
                registers => registers.split('+').count(),
            };
            assert_eq!(chip.identity().len(), count, "{line}");
            assert!(
                chip.identity()
                    .iter()
                    .all(|one| one.fits(&one.value) && one.value.iter().zip(&one.mask).all(|(v, m)| v & !m == 0)),
                "{line}"
            );
            let overlay = chip.overlay.split(',').all(|part| {
                part == "-"
                    || (!part.is_empty()
                        && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
            });
            assert!(overlay, "{line}");
            let source = chip.driver().or(chip.source.strip_prefix("data sheet: "));
            assert!(source.is_some_and(|source| !source.is_empty()), "{line}");
            assert!(!before.contains(&(chip.name, addresses)), "twice: {line}");
            before.push((chip.name, addresses));
        }
        assert!(before.len() >= 40);
    }

    #[test]
    fn the_line_that_gives_it_a_driver() {
        let at = |number: u8, name: &str| {
            let address = I2cAddress::new(number).unwrap();
            (at(address).find(|chip| chip.name == name).unwrap(), address)
        };
        let (bme280, address) = at(0x76, "BME280");
        assert_eq!(bme280.overlay(1, address).unwrap(), "dtoverlay=i2c-sensor,bme280,addr=0x76");
        assert_eq!(bme280.overlay(3, address).unwrap(), "dtoverlay=i2c-sensor,bme280,addr=0x76,i2c3");
        assert_eq!(bme280.overlay(10, address), None);
        let (mcp23017, address) = at(0x20, "MCP23017");
        assert_eq!(mcp23017.overlay(1, address).unwrap(), "dtoverlay=mcp23017,addr=0x20");
        assert_eq!(mcp23017.overlay(3, address), None, "it may have no such word");
        let (oled, address) = at(0x3c, "SSD1306");
        assert_eq!(oled.overlay(1, address), None);
    }

    #[test]
    fn a_mask_hides_a_revision() {
        let chip = at(I2cAddress::new(0x48).unwrap()).find(|chip| chip.name == "ADT7410").unwrap();
        let [register] = &chip.identity()[..] else { panic!("one register") };
        assert_eq!((register.register, register.length()), (0x0b, 1));
        assert!(register.fits(&[0xcb]) && !register.fits(&[0xd3]) && !register.fits(&[]) && !register.fits(&[0xcb, 0]));
    }
}
