//! The machine that a person runs the assertions on, as it is: nothing is written to, and no bus is asked, but what the person names.
//!
//! What is named is a text of words, `pins=17,22,23,24,26 wires=5,6,16,20`, so that the name of the board is all that a second process
//! of this program needs ([`super::killed`]).

use super::hand::{
    Hand, Header, KernelWires, Slave, Thermometer,
    look::{Look, names},
};
use hw::{board::Board, model::BoardKind};
use std::fmt::Write as _;

/// The board's name is this, and then the words.
pub const NAME: &str = "here";
/// A thermometer of the LM75 family answers there, and at the address after it nothing.
const FAMILY: std::ops::RangeInclusive<u8> = 0x48..=0x4e;
/// How far the processor's temperature may move until it is read again.
const DRIFT: f64 = 15.0;

/// What a person has named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The label of the GPIO chip, where the board is no Raspberry Pi.
    pub chip: Option<String>,
    /// Five pins with nothing connected but [`Named::wires`]; the last one is held high while nobody uses it.
    pub pins: Vec<u8>,
    /// What the first four pins are wired to.
    pub wires: Vec<u8>,
    /// Bus and address of a thermometer of the LM75 family that is alone there.
    pub i2c: Option<(u8, u8)>,
    /// Bus and chip select of an SPI device whose output is wired to its input.
    pub spi: Option<(u32, u32)>,
    /// A serial port whose output is wired to its input.
    pub serial: Option<String>,
    /// The address of a DS18B20.
    pub onewire: Option<String>,
}

fn numbers(text: &str, count: usize) -> Result<Vec<u8>, String> {
    let pins: Option<Vec<u8>> = text.split(',').map(|pin| pin.parse().ok().filter(|pin| *pin <= 27)).collect();
    let pins = pins.filter(|pins| pins.len() == count);
    pins.ok_or_else(|| {
        format!("\"{text}\" is not {count} pins: give their Broadcom numbers, 0 to 27, with commas between")
    })
}

fn pair<T: std::str::FromStr>(text: &str) -> Option<(T, &str)> {
    let (first, second) = text.split_once(':')?;
    Some((first.parse().ok()?, second))
}

/// A name of a file or an address: letters, digits and what such names have.
fn plain(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    let good = !text.is_empty() && text.bytes().all(is_plain);
    good.then(|| text.to_owned())
        .ok_or_else(|| format!("\"{text}\" is not a name: it has letters, digits and - _ . : / only"))
}

impl Named {
    /// Takes one word, as `pins` and `17,22,23,24,26`.
    ///
    /// # Errors
    /// When there is no such thing to name, or the value is none of its kind; in words for a person.
    pub fn take(&mut self, what: &str, value: &str) -> Result<(), String> {
        match what {
            "chip" => self.chip = Some(plain(value)?),
            "pins" => self.pins = numbers(value, 5)?,
            "wires" => self.wires = numbers(value, 4)?,
            "i2c" => {
                let address = |text: &str| u8::from_str_radix(text.strip_prefix("0x")?, 16).ok();
                let named =
                    pair(value).and_then(|(bus, text)| Some((bus, address(text).filter(|at| FAMILY.contains(at))?)));
                let wrong = || format!("\"{value}\" is not a bus and an address from 0x48 to 0x4e, such as 1:0x49");
                self.i2c = Some(named.ok_or_else(wrong)?);
            }
            "spi" => {
                let named = pair(value).and_then(|(bus, select)| Some((bus, select.parse().ok()?)));
                self.spi =
                    Some(named.ok_or_else(|| format!("\"{value}\" is not a bus and a chip select, such as 0:0"))?);
            }
            "serial" => self.serial = Some(plain(value.strip_prefix("/dev/").unwrap_or(value))?),
            "onewire" => self.onewire = Some(plain(value)?),
            _ => return Err(format!("\"{what}\" cannot be named")),
        }
        Ok(())
    }

    /// Takes the name of the board: [`NAME`] and words.
    ///
    /// # Errors
    /// As [`Named::take`], and as [`Named::check`].
    pub fn of_board(board: &str) -> Result<Self, String> {
        let mut named = Self::default();
        for word in board.split(' ').skip(1) {
            let (what, value) = word.split_once('=').ok_or_else(|| format!("\"{word}\" names nothing"))?;
            named.take(what, value)?;
        }
        named.check().map(|()| named)
    }

    /// Whether it fits together.
    ///
    /// # Errors
    /// When wires are named without pins, or a pin twice.
    pub fn check(&self) -> Result<(), String> {
        if self.pins.is_empty() && !self.wires.is_empty() {
            return Err("wires are from pins: name the pins as well".to_owned());
        }
        let mut all = [self.pins.as_slice(), self.wires.as_slice()].concat();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("GPIO {} is named twice: each end of a wire is a pin of its own", pair[0])),
            None => Ok(()),
        }
    }

    /// What is named and is not on this machine, in words for a person.
    // Of `tests/hardware.rs` alone.
    #[allow(dead_code)]
    pub fn missing(&self) -> Option<String> {
        let paths = [
            self.i2c.map(|(bus, _)| format!("/dev/i2c-{bus}")),
            self.spi.map(|(bus, select)| format!("/dev/spidev{bus}.{select}")),
            self.serial.as_ref().map(|port| format!("/dev/{port}")),
            self.onewire.as_ref().map(|address| format!("/sys/bus/w1/devices/{address}")),
        ];
        if let Some(path) = paths.into_iter().flatten().find(|path| !std::path::Path::new(path).exists()) {
            return Some(format!("there is no {path}: turn it on in config.txt (docs/hardware.md), or do not name it"));
        }
        if self.pins.is_empty() {
            return None;
        }
        let chips = Look::now(None).chips;
        if chips.is_empty() {
            return Some(
                "there is no /dev/gpiochip that this user may open: run it as root, or do not name pins".to_owned(),
            );
        }
        let Some(wanted) = self.chip_label() else {
            return Some(format!(
                "this is no Raspberry Pi that is known: name the GPIO chip of the pins with --chip, one of {chips:?}"
            ));
        };
        let is_there = chips.contains(&wanted);
        (!is_there).then(|| {
            format!("there is no GPIO chip \"{wanted}\" that this user may open, only {chips:?}: run it as root")
        })
    }

    /// The label of the header's GPIO chip.
    fn chip_label(&self) -> Option<String> {
        let known = || {
            let board = Board::detect(hw::board::Choice::Auto, &base::os::Root::system()).ok()?;
            Some(board.profile.filter(|_| !board.is_simulated())?.header_chip.label().to_owned())
        };
        self.chip.clone().or_else(known)
    }

    /// The name of the board with these words: [`Named::of_board`] takes it.
    pub fn board(&self) -> String {
        let mut board = NAME.to_owned();
        let list = |pins: &[u8]| pins.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        let words = [
            ("chip", self.chip.clone()),
            ("pins", Some(list(&self.pins)).filter(|list| !list.is_empty())),
            ("wires", Some(list(&self.wires)).filter(|list| !list.is_empty())),
            ("i2c", self.i2c.map(|(bus, address)| format!("{bus}:{address:#04x}"))),
            ("spi", self.spi.map(|(bus, select)| format!("{bus}:{select}"))),
            ("serial", self.serial.clone()),
            ("onewire", self.onewire.clone()),
        ];
        for (what, value) in words {
            if let Some(value) = value {
                write!(board, " {what}={value}").expect("a text grows");
            }
        }
        board
    }

    /// The server's whole configuration: what is named, and beside it devices that are on no board.
    pub fn configuration(&self) -> String {
        let mut text = format!("board = \"{}\"\n\n[gpio]\n", if is_raspberry_pi() { "auto" } else { "linux" });
        let mut say = |line: &dyn std::fmt::Display| writeln!(text, "{line}").expect("a text grows");
        if let Some(chip) = &self.chip {
            say(&format_args!("chip = \"{chip}\""));
        }
        let buses = self.bus_pins().iter().map(|(pin, _)| *pin);
        let allowed: Vec<u8> = self.pins.iter().copied().chain(buses).collect();
        say(&format_args!("allow = {allowed:?}\nsafe_high = {:?}", self.pins.get(4..).unwrap_or_default()));
        for bus in self.i2c.iter().flat_map(|(bus, _)| [*bus, 99]) {
            say(&format_args!("\n[[i2c.buses]]\nbus = {bus}\naddresses = [\"0x40-0x5f\", \"0x68\"]\nwritable = true"));
        }
        for (bus, select) in self.spi.iter().flat_map(|named| [*named, (9, 0)]) {
            say(&format_args!("\n[[spi.devices]]\nbus = {bus}\nchip_select = {select}\nmax_speed_hz = 1000000"));
        }
        for port in self.serial.iter() {
            say(&format_args!("\n[[serial.ports]]\nname = \"{port}\"\nwritable = true"));
        }
        text
    }

    /// Pins of the I2C bus of a Raspberry Pi's header, once both are named, and what they are then.
    fn bus_pins(&self) -> &'static [(u8, &'static str)] {
        let both = is_raspberry_pi() && !self.pins.is_empty() && self.i2c.is_some_and(|(bus, _)| bus == 1);
        if both { &[(2, "SDA1"), (3, "SCL1")] } else { &[] }
    }

    pub fn hand(&self, board: &Board) -> Hand {
        let look = Look::now(self.chip_label());
        let lines = self.chip_label().filter(|_| !self.pins.is_empty()).map(|chip| {
            let wires = self.pins.iter().copied().zip(self.wires.iter().copied()).collect();
            Header::named(board, chip, &self.pins, wires, self.bus_pins())
        });
        let gpio = names("/dev", "gpiochip").into_iter().map(|number| ("gpio", format!("/dev/gpiochip{number}")));
        let i2c = look.i2c.iter().map(|(bus, _)| ("i2c", format!("/dev/i2c-{bus}")));
        let celsius = look.celsius.map(|celsius| ("cpu_thermal/temp1", "celsius", celsius - DRIFT, celsius + DRIFT));
        Hand {
            kind: if is_raspberry_pi() { BoardKind::RaspberryPi } else { BoardKind::Linux },
            devices: gpio.chain(i2c).collect(),
            lines: lines.map(|lines| Box::new(lines) as _),
            wires: self.i2c.map(|(bus, address)| {
                let slave = Slave { bus, address, adapter: "", plain: true };
                Box::new(KernelWires { slave, nobody: address + 1, held: None }) as _
            }),
            spi_loop: self.spi,
            probe: self.onewire.clone().map(|address| Box::new(Thermometer(address)) as _),
            echo: self.serial.clone(),
            sensors: celsius.into_iter().collect(),
            ..Hand::empty(Some(look))
        }
    }
}

/// As the device tree says it (Documentation/devicetree/bindings/arm/bcm/bcm2835.yaml).
fn is_raspberry_pi() -> bool {
    let names = std::fs::read("/proc/device-tree/compatible").unwrap_or_default();
    names.starts_with(b"raspberrypi,")
}

#[cfg(test)]
mod naming {
    use super::*;

    fn named(words: &str) -> Result<Named, String> {
        Named::of_board(format!("{NAME} {words}").trim_end())
    }

    #[test]
    fn what_is_named_is_read_back_from_the_name_of_the_board() {
        let all = "pins=17,22,23,24,26 wires=5,6,16,20 i2c=1:0x49 spi=0:0 serial=serial0 onewire=28-0000075bcd15";
        for words in ["", "chip=pinctrl-rp1 pins=0,1,2,3,27", "i2c=10:0x48", all] {
            let named = named(words).unwrap();
            assert_eq!(named.board(), format!("{NAME} {words}").trim_end());
            assert_eq!(Named::of_board(&named.board()), Ok(named));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (words, why) in [
            ("pins=17,22,23,24", "is not 5 pins"),
            ("pins=17,22,23,24,28", "is not 5 pins"),
            ("wires=5,6,16,20", "name the pins as well"),
            ("pins=17,22,23,24,26 wires=5,6,16,26", "GPIO 26 is named twice"),
            ("pins=17,17,23,24,26", "GPIO 17 is named twice"),
            ("i2c=1:73", "is not a bus and an address"),
            ("i2c=1:0x4f", "is not a bus and an address"),
            ("spi=0", "is not a bus and a chip select"),
            ("serial=a\"b", "is not a name"),
            ("serial=", "is not a name"),
            ("camera=0", "cannot be named"),
            ("pins", "names nothing"),
        ] {
            let fault = named(words).expect_err(words);
            assert!(fault.contains(why), "{words}: {fault}");
        }
    }

    #[test]
    fn only_what_is_named_is_in_the_configuration() {
        let nothing = Named::default().configuration();
        assert!(nothing.contains("allow = []\nsafe_high = []"), "{nothing}");
        assert!(!nothing.contains("[["), "{nothing}");
        let all = named("pins=17,22,23,24,26 spi=0:1 serial=ttyS5").unwrap().configuration();
        for part in ["allow = [17, 22, 23, 24, 26]\nsafe_high = [26]", "bus = 0\nchip_select = 1", "name = \"ttyS5\""] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }
}
