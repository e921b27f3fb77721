//! The hand: what a person at the bench would do and see, with wires, a meter and a second computer.

mod kernel_lines;
mod kernel_port;
mod kernel_probe;
pub mod kernel_scene;
pub mod kernel_scope;
mod kernel_wires;
pub mod look;
mod simulated;

pub use kernel_lines::{GpioSim, Header};
pub use kernel_port::Pty;
pub use kernel_probe::{KernelProbe, Thermometer};
pub use kernel_scene::KernelScene;
pub use kernel_wires::KernelWires;
pub use simulated::hand as simulated;

use hw::model::BoardKind;
use look::Look;
use std::any::Any;

/// What is outside a board, part by part; `None` is a part that this board does not have.
pub struct Hand {
    /// What `system.get_capabilities` must call the board.
    pub kind: BoardKind,
    /// Words that `system.get_capabilities` must have among the devices of a module: `("gpio", "gpio-sim.0")`.
    pub devices: Vec<(&'static str, String)>,
    pub lines: Option<Box<dyn Lines>>,
    pub wires: Option<Box<dyn Wires>>,
    pub scene: Option<Box<dyn Scene>>,
    pub scope: Option<Box<dyn Scope>>,
    /// An SPI device whose output is connected to its input: bus and chip select.
    pub spi_loop: Option<(u32, u32)>,
    pub probe: Option<Box<dyn Probe>>,
    pub port: Option<Box<dyn Port>>,
    /// A serial port that sends back what it gets.
    pub echo: Option<String>,
    /// Sensors that the kernel has drivers for.
    pub sensors: Vec<Measured>,
    /// What the kernel shows of the machine; `None` for the simulated board, which has no kernel.
    pub look: Option<Look>,
}

impl Hand {
    /// Of a machine that has nothing.
    pub fn empty(look: Option<Look>) -> Self {
        Self {
            kind: BoardKind::Linux,
            devices: Vec::new(),
            lines: None,
            wires: None,
            scene: None,
            scope: None,
            spi_loop: None,
            probe: None,
            port: None,
            echo: None,
            sensors: Vec::new(),
            look,
        }
    }

    /// Whether it is a board: a Linux machine without any of these is none.
    pub fn is_board(&self) -> bool {
        self.kind != BoardKind::Linux || !self.devices.is_empty()
    }
}

/// A 1-Wire thermometer.
pub trait Probe {
    fn address(&self) -> &str;
    /// Sets its temperature, in sixteenths of a degree. Returns whether it could.
    fn set(&self, sixteenths: i16) -> bool;
    /// Whether [`Probe::disturb`] and [`Probe::take`] work.
    fn can_fail(&self) -> bool;
    /// Disturbs its bits, until the result is dropped.
    fn disturb(&self) -> Held;
    /// Takes it off the bus, until the result is dropped.
    fn take(&self) -> Held;
}

/// The other end of a serial port.
pub trait Port {
    /// The port, as tools call it.
    fn name(&self) -> &str;
    fn send(&self, bytes: &[u8]);
    /// What has come, at least so many bytes, unless that takes long.
    fn received(&self, count: usize) -> Vec<u8>;
    /// Hangs up, for good.
    fn hang_up(&self);
}

/// A sensor: its name, its unit, and what it shows at least and at most.
pub type Measured = (&'static str, &'static str, f64, f64);

/// Something that lasts until it is dropped: a line held, a camera in use.
pub type Held = Box<dyn Any>;

/// The other end of the header's pins.
pub trait Lines {
    /// Pins (BCM) with nothing connected, that the configuration allows and assertions may use: at least four.
    fn free(&self) -> &[u8];
    /// A pin of the header that the configuration does not allow; `None` where nobody has said that it may be tried.
    fn forbidden(&self) -> Option<u8>;
    /// A pin of the header that the configuration has driven high while nobody uses it. It is allowed, and not free.
    fn safe_high(&self) -> u8;
    /// Whether [`Lines::drive`] works: an emulated chip may have nothing at its other end.
    fn can_drive(&self) -> bool;
    /// Whether pull resistors do anything there.
    fn can_pull(&self) -> bool;
    /// Allowed pins that are something else, and what. A Raspberry Pi's registers tell that; others' GPIO chips do not.
    fn functions(&self) -> &[(u8, &'static str)];
    /// Puts the pin at a level from outside, as a push button or another board would, until [`Lines::let_go`].
    fn drive(&self, pin: u8, high: bool);
    /// Drives it no longer: it goes where its pull resistor takes it.
    fn let_go(&self, pin: u8);
    /// What a meter shows at the pin; `None` where it cannot tell.
    fn level(&self, pin: u8) -> Option<bool>;
    /// Takes the pin as another process would, under that consumer's name, until the result is dropped.
    fn hold(&self, pin: u8, consumer: &str) -> Held;
}

/// The devices on the I2C buses.
pub trait Wires {
    /// What is connected.
    fn slaves(&self) -> &[Slave];
    /// A bus, and an allowed address on it where nothing is.
    fn nobody(&self) -> (u8, u8);
    /// An allowed device that a driver of the kernel has: bus, address, driver.
    fn held(&self) -> Option<(u8, u8, &'static str)>;
    /// An allowed address on a bus that is not there.
    fn nowhere(&self) -> (u8, u8) {
        (99, 0x48)
    }
    /// A bus that is there, and an address on it that the configuration does not allow.
    fn forbidden(&self) -> (u8, u8) {
        (self.nobody().0, 0x2a)
    }
    /// Puts a 16-bit register of a slave; its bytes as they go over the wire.
    fn put(&self, slave: &Slave, register: u8, bytes: [u8; 2]);
    /// What is in it.
    fn get(&self, slave: &Slave, register: u8) -> [u8; 2];
}

/// A device on a bus that keeps 16-bit registers, high byte first: a thermometer of the LM75 family. Registers 2 and 3
/// (its limits) may be written; register 0 is the temperature.
#[derive(Clone, Copy, Debug)]
pub struct Slave {
    pub bus: u8,
    pub address: u8,
    /// What the adapter's name has in it.
    pub adapter: &'static str,
    /// The adapter does whole I2C messages; else SMBus's transactions only.
    pub plain: bool,
}

/// What is before the cameras.
pub trait Scene {
    /// The cameras that assertions may use.
    fn cameras(&self) -> &[Camera];
    /// Whether one program at a time has it.
    fn is_exclusive(&self, camera: &Camera) -> bool;
    /// Uses a camera as another process would, until the first of the result is dropped; the second is that process' number.
    fn hog(&self, camera: &Camera) -> (Held, u32);
    /// Has the camera show something, where it does not by itself, until the result is dropped.
    fn lights(&self, camera: &Camera) -> Held;
}

/// A camera, and what it can do.
#[derive(Clone, Debug)]
pub struct Camera {
    /// As tools call it: `/dev/video0`.
    pub id: String,
    /// Part of the name that its driver gives.
    pub name: &'static str,
    /// It compresses by itself.
    pub mjpeg: bool,
    /// A size that it has.
    pub size: (u32, u32),
}

/// A meter for PWM.
pub trait Scope {
    /// Pins that tools drive with hardware PWM.
    fn hardware(&self) -> &[u8];
    /// Pins that tools drive with software PWM.
    fn software(&self) -> &[u8];
    /// Period and pulse width in nanoseconds, as measured; `None` while nothing comes out. It may have to look for a while.
    fn signal(&self, pin: u8) -> Option<(u64, u64)>;
    /// Takes the channel of a pin as another program would, until the result is dropped.
    fn hold(&self, pin: u8) -> Held;
}
