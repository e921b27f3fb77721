//! SPI: devices with a `/dev/spidevB.C`, and transfers with one of them at a time.
//!
//! A transfer may block for as long as its controller takes, so it runs where that is allowed ([`base::os::blocking`]). The
//! clock's mode belongs to the device and not to a transfer, so all transfers wait for each other: at most one thread is
//! stuck on a controller that hangs.

mod allow;
mod dev;
pub mod simulated;

pub use allow::SpiAllow;
pub use dev::Dev;

use base::{
    error::ToolError,
    os::{Root, blocking},
};
use contract::config::SpiSettings;
use rustix::io::Errno;
use std::{io, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};

/// Most bytes of one transfer: the buffer of spidev, unless `spidev.bufsiz` says otherwise.
pub const BYTES: usize = 4096;
/// The clock where nobody says one, in hertz: slow enough for loose wires.
pub const USUAL_HZ: u32 = 500_000;
/// How long a call waits for its turn. The longest transfer takes 3.3 s.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// One device with a device file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpiDevice {
    pub bus: u32,
    pub chip_select: u32,
    /// What the kernel takes it for: `spi:spidev`.
    pub name: Option<String>,
}

/// How one transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpiClock {
    /// 0 to 3: polarity and phase.
    pub mode: u8,
    pub speed_hz: u32,
    /// Between the last bit and the end of the chip select, in microseconds.
    pub delay_us: u16,
}

/// The devices of a machine.
pub trait SpiPort: Send + Sync {
    /// Those with a device file, by bus and chip select.
    fn devices(&self) -> Vec<SpiDevice>;

    /// Exchanges `data` for what comes back. Blocks until it is over.
    ///
    /// # Errors
    /// Those of opening `/dev/spidevB.C`, and those of the controller.
    fn exchange(&self, bus: u32, chip_select: u32, clock: SpiClock, data: &mut [u8]) -> io::Result<()>;
}

/// SPI for tools.
pub struct Spi {
    port: Arc<dyn SpiPort>,
    allow: SpiAllow,
    turns: Arc<Semaphore>,
}

impl Spi {
    /// That of this machine, or of a simulated board.
    pub fn of(settings: &SpiSettings, root: &Root, simulated: Option<&simulated::SimulatedSpi>) -> Self {
        let port: Arc<dyn SpiPort> = match simulated {
            Some(devices) => Arc::new(devices.clone()),
            None => Arc::new(Dev::new(root.clone())),
        };
        Self { port, allow: SpiAllow::of(settings, simulated.is_some()), turns: Arc::new(Semaphore::new(1)) }
    }

    pub fn allow(&self) -> &SpiAllow {
        &self.allow
    }

    pub fn devices(&self) -> Vec<SpiDevice> {
        self.port.devices()
    }

    /// Sends `data` to a device and returns what came meanwhile. `tool` is the caller's tool.
    ///
    /// # Errors
    /// Those of [`told`]; `unavailable` if the bus stays busy.
    pub async fn transfer(
        &self,
        tool: &'static str,
        (bus, chip_select): (u32, u32),
        clock: SpiClock,
        mut data: Vec<u8>,
    ) -> Result<Vec<u8>, ToolError> {
        let turn = timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned());
        // The semaphore is never closed; that would be reported like a timeout.
        let Ok(Ok(turn)) = blocking::unless_told(tool, turn).await? else {
            return Err(ToolError::unavailable(format!(
                "SPI has been busy with another call for {} s",
                PATIENCE.as_secs()
            ))
            .with("fault", "queue")
            .hint("try again; if it stays, the controller hangs: restart the board"));
        };
        let port = Arc::clone(&self.port);
        let ended = blocking::run(tool, move |stop| {
            let _turn = turn;
            // The caller may have gone while this waited for a thread.
            stop.check()?;
            Ok(port.exchange(bus, chip_select, clock, &mut data).map(|()| data))
        });
        ended.await?.map_err(|fault| told(bus, chip_select, &fault))
    }
}

/// The error of a transfer that failed.
pub fn told(bus: u32, chip_select: u32, fault: &io::Error) -> ToolError {
    let device = format!("spidev{bus}.{chip_select}");
    let (word, error) = match fault.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::SHUTDOWN) => (
            "no_device",
            ToolError::missing(format!("there is no /dev/{device}")).hint(
                "spi.list_buses shows those there are; the header's bus 0 needs dtparam=spi=on in config.txt and a restart",
            ),
        ),
        Some(Errno::ACCESS | Errno::PERM) => (
            "no_access",
            ToolError::unavailable(format!("this server may not open /dev/{device}"))
                .with("resource", format!("/dev/{device}"))
                .hint("add its user to the group spi (dist/udev gives the device to it) and restart"),
        ),
        Some(Errno::BUSY) => (
            "held",
            ToolError::precondition(format!("/dev/{device} is in use"))
                .hint("stop the program that has it open; only one may"),
        ),
        Some(Errno::MSGSIZE) => (
            "too_long",
            ToolError::precondition(format!("the driver of {device} takes fewer bytes in one transfer"))
                .hint("send fewer bytes, or set spidev.bufsiz=4096 on the kernel's command line"),
        ),
        Some(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOTTY) => (
            "unsupported",
            ToolError::missing(format!("the controller of {device} cannot do that: {fault}"))
                .hint("try another mode or a lower speed_hz"),
        ),
        Some(Errno::TIMEDOUT) => (
            "timeout",
            ToolError::unavailable(format!("the controller of {device} gave up"))
                .hint("try again; if it stays, the kernel's log says more (logs.query_journal)"),
        ),
        _ => (
            "io",
            ToolError::unavailable(format!("{device} failed: {fault}"))
                .hint("try again; the kernel's log may say more (logs.query_journal)"),
        ),
    };
    error.with("bus", bus).with("chip_select", chip_select).with("fault", word)
}
