//! The boards that assertions run on: how the server is configured there, and whose hand is outside.

use super::hand::{
    self, GpioSim, Hand, Header, KernelProbe, KernelScene, KernelWires, Port, Pty, Slave, kernel_scope::KernelScope,
};
use hw::{board::Board, model::BoardKind};

/// One board.
pub struct Setup {
    pub name: &'static str,
    /// The server's whole configuration.
    pub configuration: &'static str,
    pub hand: fn(&Board) -> Hand,
    /// The label of the header's GPIO chip.
    // Of `tests/hardware.rs` alone.
    #[allow(dead_code)]
    pub chip: &'static str,
}

const BOARDS: &[Setup] = &[
    Setup { name: "simulated", configuration: include_str!("simulated.toml"), hand: hand::simulated, chip: "" },
    Setup { name: "virt", configuration: include_str!("virt.toml"), hand: virt, chip: "header" },
    Setup { name: "pi", configuration: include_str!("pi.toml"), hand: pi, chip: "" },
    Setup { name: "raspi3b", configuration: include_str!("raspi3b.toml"), hand: raspi3b, chip: "pinctrl-bcm2835" },
];

/// The boards' names, for people.
pub fn names() -> String {
    BOARDS.iter().map(|setup| setup.name).collect::<Vec<_>>().join(", ")
}

pub fn setup(name: &str) -> Option<&'static Setup> {
    BOARDS.iter().find(|setup| setup.name == name)
}

/// QEMU's generic arm64 board with the kernel's test drivers, as `ci/qemu-hw` starts it.
fn virt(_: &Board) -> Hand {
    Hand {
        kind: BoardKind::Linux,
        devices: &[
            ("gpio", "(9030000.pl061)"),
            ("gpio", "(gpio-sim.0)"),
            ("i2c", "(SMBus stub driver)"),
            ("camera", "(vivid-000-vid-cap)"),
            ("camera", "/dev/video10 (loopback)"),
            ("pwm", "(channels: 1)"),
        ],
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
        echo: Some("ttyAMA1"),
        // What ci/qemu-hw.d/hardware.py has put into the registers: 25.5 degrees, and the example of a BMP280's data sheet.
        sensors: &[
            ("lm75@0-0048/temp1", "celsius", 25.5, 25.5),
            ("bmp280@0-0076/temp", "celsius", 25.07, 25.09),
            ("bmp280@0-0076/pressure", "kilopascals", 100.64, 100.66),
        ],
    }
}

/// QEMU's Raspberry Pi 3 with the kernel's own drivers, and two TMP105 on its I2C bus: one for the kernel, one for tools.
fn raspi3b(_: &Board) -> Hand {
    Hand {
        kind: BoardKind::RaspberryPi,
        devices: &[("gpio", "(3f200000.gpio)"), ("i2c", "/dev/i2c-1 (bcm2835"), ("pwm", "(channels: 2)")],
        lines: Some(Box::new(Header::bare())),
        wires: Some(Box::new(KernelWires {
            slave: Slave { bus: 1, address: 0x49, adapter: "bcm2835", plain: true },
            nobody: 0x4a,
            held: Some((0x48, "lm75")),
        })),
        scene: None,
        // QEMU has the registers of its PWM, and puts nothing out.
        scope: Some(Box::new(KernelScope {
            hardware: vec![(12, "3f20c000.pwm", 0), (13, "3f20c000.pwm", 1)],
            pins: vec![12, 13],
            software: vec![17, 22],
            lines: Box::new(Header::bare()),
            watched: None,
        })),
        spi_loop: None,
        probe: None,
        port: pty(),
        echo: None,
        sensors: &[("tmp105@1-0048/temp1", "celsius", -128.0, 128.0)],
    }
}

/// A real Raspberry Pi, wired as docs/hardware.md says.
fn pi(board: &Board) -> Hand {
    Hand {
        kind: BoardKind::RaspberryPi,
        devices: &[],
        lines: Some(Box::new(Header::wired(board))),
        wires: Some(Box::new(KernelWires {
            slave: Slave { bus: 1, address: 0x49, adapter: "i2c", plain: true },
            nobody: 0x4a,
            held: None,
        })),
        scene: None,
        scope: None,
        spi_loop: Some((0, 0)),
        probe: None,
        port: None,
        echo: Some("serial0"),
        sensors: &[("cpu_thermal/temp1", "celsius", 5.0, 95.0)],
    }
}

/// A pseudoterminal, which needs no board; the configurations list the first ones.
fn pty() -> Option<Box<dyn Port>> {
    Some(Box::new(Pty::new()?))
}
