//! The kernel's devices: `/dev/spidevB.C` (Documentation/spi/spidev.rst).

use super::{SpiClock, SpiDevice, SpiPort};
use crate::devices::Devices;
use base::os::{Root, ioctl};
use std::{fs::File, io};

/// The devices below a root.
#[derive(Debug)]
pub struct Dev {
    root: Root,
}

impl Dev {
    pub fn new(root: Root) -> Self {
        Self { root }
    }
}

/// `/dev/spidev0.1` as bus and chip select.
fn numbers(path: &str) -> Option<(u32, u32)> {
    let (bus, chip_select) = path.strip_prefix("/dev/spidev")?.split_once('.')?;
    Some((bus.parse().ok()?, chip_select.parse().ok()?))
}

impl SpiPort for Dev {
    fn devices(&self) -> Vec<SpiDevice> {
        let found = Devices::read(&self.root).spi.into_iter();
        let mut devices: Vec<SpiDevice> = found
            .filter_map(|device| {
                let (bus, chip_select) = numbers(&device.path)?;
                Some(SpiDevice { bus, chip_select, name: device.name })
            })
            .collect();
        base::sort::sort(&mut devices);
        devices
    }

    fn exchange(&self, bus: u32, chip_select: u32, clock: SpiClock, data: &mut [u8]) -> io::Result<()> {
        let path = self.root.path(&format!("dev/spidev{bus}.{chip_select}"));
        let device = File::options().read(true).write(true).open(path)?;
        ioctl::spi_exchange(&device, data, clock.mode, clock.speed_hz, clock.delay_us)
    }
}
