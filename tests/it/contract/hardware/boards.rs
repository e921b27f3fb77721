//! The boards that assertions run on: how the server is configured there, and whose hand is outside.

use super::{
    hand::{
        self, GpioSim, Hand, Header, KernelProbe, KernelScene, KernelWires, Port, Pty, Slave,
        kernel_scope::KernelScope, look::Look,
    },
    here::{self, Named},
};
use hw::{board::Board, model::BoardKind};
use std::borrow::Cow;

/// One board.
pub struct Setup {
    pub name: String,
    /// The server's whole configuration.
    pub configuration: Cow<'static, str>,
    pub hand: Box<dyn Fn(&Board) -> Hand>,
    /// The label of the header's GPIO chip.
    // Of `tests/hardware.rs` alone.
    #[allow(dead_code)]
    pub chip: &'static str,
}

/// A board that is always the same: its name, its configuration, its hand, the label of its header's GPIO chip.
type Row = (&'static str, &'static str, fn(&Board) -> Hand, &'static str);

const BOARDS: &[Row] = &[
    ("simulated", include_str!("simulated.toml"), hand::simulated, ""),
    ("virt", include_str!("virt.toml"), virt, "header"),
    ("raspi3b", include_str!("raspi3b.toml"), raspi3b, "pinctrl-bcm2835"),
];

/// The boards' names, for people.
pub fn names() -> String {
    BOARDS.iter().map(|(name, ..)| *name).chain([here::NAME]).collect::<Vec<_>>().join(", ")
}

/// A board by its name; [`here::NAME`] with what is named there.
///
/// # Errors
/// When there is none of that name, or what is named does not fit; in words for a person.
pub fn setup(name: &str) -> Result<Setup, String> {
    if name.split(' ').next() == Some(here::NAME) {
        let named = Named::of_board(name)?;
        let configuration = Cow::Owned(named.configuration());
        return Ok(Setup {
            name: named.board(),
            configuration,
            hand: Box::new(move |board| named.hand(board)),
            chip: "",
        });
    }
    let row = BOARDS.iter().find(|(known, ..)| *known == name);
    let (_, configuration, hand, chip) =
        row.ok_or_else(|| format!("there is no board \"{name}\"; there are: {}", names()))?;
    Ok(Setup { name: name.to_owned(), configuration: Cow::Borrowed(configuration), hand: Box::new(*hand), chip })
}

/// QEMU's generic arm64 board with the kernel's test drivers, as `ci/qemu-hw` starts it.
fn virt(_: &Board) -> Hand {
    Hand {
        kind: BoardKind::Linux,
        devices: told(&[
            ("gpio", "(9030000.pl061)"),
            ("gpio", "(gpio-sim.0)"),
            ("i2c", "(SMBus stub driver)"),
            ("camera", "(vivid-000-vid-cap)"),
            ("camera", "/dev/video10 (loopback)"),
            ("pwm", "(channels: 1)"),
        ]),
        lines: Some(Box::new(GpioSim::bank("header", "/sys/devices/platform/gpio-sim.0"))),
        wires: Some(Box::new(KernelWires {
            slave: Slave { bus: 0, address: 0x50, adapter: "SMBus stub driver", plain: false },
            nobody: 0x51,
            held: Some((0x48, "lm75")),
        })),
        scene: Some(Box::new(KernelScene::of("/dev/video0", "/dev/video10"))),
        // pwm-gpio drives line 5 of the board's own chip.
        scope: Some(Box::new(KernelScope {
            hardware: vec![(5, "pwm", 0)],
            pins: vec![5],
            software: vec![17, 22],
            lines: Box::new(GpioSim::bank("header", "/sys/devices/platform/gpio-sim.0")),
            watched: Some("9030000.pl061"),
        })),
        spi_loop: Some((0, 0)),
        probe: Some(Box::new(KernelProbe)),
        port: pty(),
        echo: Some("ttyAMA1".to_owned()),
        // What ci/qemu-hw.d/hardware.py has put into the registers: 25.5 degrees, and the example of a BMP280's data sheet.
        sensors: vec![
            ("lm75@0-0048/temp1", "celsius", 25.5, 25.5),
            ("bmp280@0-0076/temp", "celsius", 25.07, 25.09),
            ("bmp280@0-0076/pressure", "kilopascals", 100.64, 100.66),
        ],
        look: Some(Look::now(Some("header".to_owned()))),
    }
}

/// QEMU's Raspberry Pi 3 with the kernel's own drivers, and two TMP105 on its I2C bus: one for the kernel, one for tools.
fn raspi3b(_: &Board) -> Hand {
    Hand {
        kind: BoardKind::RaspberryPi,
        devices: told(&[("gpio", "(3f200000.gpio)"), ("i2c", "/dev/i2c-1 (bcm2835"), ("pwm", "(channels: 2)")]),
        lines: Some(Box::new(Header::bare())),
        wires: Some(Box::new(KernelWires {
            slave: Slave { bus: 1, address: 0x49, adapter: "bcm2835", plain: true },
            nobody: 0x4a,
            held: Some((0x48, "lm75")),
        })),
        // QEMU has the registers of its PWM, and puts nothing out.
        scope: Some(Box::new(KernelScope {
            hardware: vec![(12, "3f20c000.pwm", 0), (13, "3f20c000.pwm", 1)],
            pins: vec![12, 13],
            software: vec![17, 22],
            lines: Box::new(Header::bare()),
            watched: None,
        })),
        port: pty(),
        sensors: vec![("tmp105@1-0048/temp1", "celsius", -128.0, 128.0)],
        ..Hand::empty(Some(Look::now(Some("pinctrl-bcm2835".to_owned()))))
    }
}

/// A pseudoterminal, which needs no board; the configurations list the first ones.
fn pty() -> Option<Box<dyn Port>> {
    Some(Box::new(Pty::new()?))
}

fn told(devices: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    devices.iter().map(|(module, word)| (*module, (*word).to_owned())).collect()
}
