//! The kernel's devices: `/dev/spidevB.C` (Documentation/spi/spidev.rst).
//!
//! A device stays open after its first transfer: opening it costs several times what a short transfer does. This keeps
//! nobody out, since spidev may be open in several programs. An open device costs 8 KiB of the kernel's memory.

use super::{SpiClock, SpiDevice, SpiPort};
use crate::devices::Devices;
use base::os::{Root, ioctl};
use rustix::io::Errno;
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long after a transfer its mode is taken for granted. The mode is the device's, so another program may change it.
const MODE_HOLDS: Duration = Duration::from_secs(1);

/// The devices below a root.
#[derive(Debug)]
pub struct Dev {
    root: Root,
    /// Those that are open, by bus and chip select.
    open: Mutex<BTreeMap<(u32, u32), OpenDevice>>,
}

#[derive(Debug)]
struct OpenDevice {
    spidev: File,
    /// The mode of the last transfer, and when it ended.
    last: Option<(u8, Instant)>,
}

impl OpenDevice {
    fn exchange(&mut self, clock: SpiClock, data: &mut [u8]) -> io::Result<()> {
        let holds = |(mode, ended): (u8, Instant)| mode == clock.mode && ended.elapsed() < MODE_HOLDS;
        if !self.last.take().is_some_and(holds) {
            ioctl::spi_set_mode(&self.spidev, clock.mode)?;
        }
        ioctl::spi_exchange(&self.spidev, data, clock.speed_hz, clock.delay_us)?;
        self.last = Some((clock.mode, Instant::now()));
        Ok(())
    }
}

impl Dev {
    pub fn new(root: Root) -> Self {
        Self { root, open: Mutex::default() }
    }

    fn open(&self, (bus, chip_select): (u32, u32)) -> io::Result<OpenDevice> {
        let path = self.root.path(&format!("dev/spidev{bus}.{chip_select}"));
        Ok(OpenDevice { spidev: File::options().read(true).write(true).open(path)?, last: None })
    }
}

/// Whether a transfer failed because its device was removed after it had been opened: `ESHUTDOWN` (drivers/spi/spidev.c).
/// Nothing has been sent then. A device of that name may be there again.
fn was_removed(fault: &io::Error) -> bool {
    fault.raw_os_error() == Some(Errno::SHUTDOWN.raw_os_error())
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
        // Transfers wait for each other anyway. Each change is one call, so a poisoned lock is safe to use.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (bus, chip_select);
        if let Some(device) = open.get_mut(&key) {
            match device.exchange(clock, data) {
                Err(fault) if was_removed(&fault) => open.remove(&key),
                ended => return ended,
            };
        }
        let mut device = self.open(key)?;
        let ended = device.exchange(clock, data);
        open.insert(key, device);
        ended
    }
}
