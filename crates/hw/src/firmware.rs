//! The Raspberry Pi firmware's state of power and temperature: the throttling word.
//!
//! Three sources, tried in this order: the kernel's `get_throttled` file, the mailbox `/dev/vcio`, the program
//! `vcgencmd`. Kernels for the Raspberry Pi 5 have no such file.

use super::{
    board::{Board, SimulatedBoard},
    model::BoardKind,
    vcgencmd::Vcgencmd,
};
use base::os::{Root, ioctl, malformed};
use futures::future::BoxFuture;
use std::{fs::File, io, sync::Arc};
use tokio::sync::OnceCell;

const PLATFORM: &str = "sys/devices/platform";

/// Queries property 0x00030046 through the mailbox. Only the privileged half may open `/dev/vcio` itself
/// ([`throttled_by_mailbox`]); the other half gets this function, or none.
pub type Mailbox = Box<dyn Fn() -> BoxFuture<'static, io::Result<u32>> + Send + Sync>;

/// The mailbox on Raspberry Pi kernels.
pub const VCIO: &str = "dev/vcio";
/// `RPI_FIRMWARE_GET_THROTTLED` of include/soc/bcm2835/raspberrypi-firmware.h. The request's value is a mask of bits to
/// clear, and so 0.
const GET_THROTTLED: u32 = 0x0003_0046;

/// The throttling word from the mailbox below `root`. Blocks, so call it where that is allowed.
///
/// # Errors
/// Those of opening it (`NotFound` on kernels without it) and of the firmware.
pub fn throttled_by_mailbox(root: &Root) -> io::Result<u32> {
    let vcio = File::options().read(true).write(true).open(root.path(VCIO))?;
    ioctl::firmware_property(&vcio, GET_THROTTLED, 0)
}

/// The throttling word (Raspberry Pi documentation, `vcgencmd get_throttled`): bits 0-3 are current, bits 16-19 are
/// since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled(pub u32);

impl Throttled {
    const fn bit(self, number: u32) -> bool {
        self.0 >> number & 1 == 1
    }
    /// Below 4.63 V on the supply, within the last seconds.
    pub const fn under_voltage(self) -> bool {
        self.bit(0)
    }
    pub const fn freq_capped(self) -> bool {
        self.bit(1)
    }
    pub const fn throttled(self) -> bool {
        self.bit(2)
    }
    /// Above the soft limit (60 degrees by default): a board with a heat spreader slows down a little.
    pub const fn soft_temperature_limit(self) -> bool {
        self.bit(3)
    }
    pub const fn under_voltage_occurred(self) -> bool {
        self.bit(16)
    }
    pub const fn freq_capped_occurred(self) -> bool {
        self.bit(17)
    }
    pub const fn throttled_occurred(self) -> bool {
        self.bit(18)
    }
    pub const fn soft_temperature_limit_occurred(self) -> bool {
        self.bit(19)
    }
}

/// The sources of this board's firmware, determined once.
pub struct Firmware {
    root: Root,
    simulated: Option<Arc<SimulatedBoard>>,
    /// The kernel's file, relative to the root.
    file: Option<String>,
    mailbox: Option<Mailbox>,
    vcgencmd: Option<Vcgencmd>,
    /// PM_RSTS at the start: read once, because it does not change.
    reset: OnceCell<Option<u32>>,
}

impl Firmware {
    /// Boards other than Raspberry Pis get one without sources.
    pub fn new(root: &Root, board: &Board, mailbox: Option<Mailbox>) -> Self {
        let real = board.kind == BoardKind::RaspberryPi;
        Self {
            root: root.clone(),
            simulated: board.simulated.clone(),
            file: if real { find(root) } else { None },
            mailbox: mailbox.filter(|_| real),
            vcgencmd: if real { Vcgencmd::find(root) } else { None },
            reset: OnceCell::new(),
        }
    }

    /// The first source to try: `simulated`, `sysfs`, `mailbox`, `vcgencmd`; `None` without one.
    pub fn source(&self) -> Option<&'static str> {
        if self.simulated.is_some() {
            Some("simulated")
        } else if self.file.is_some() {
            Some("sysfs")
        } else if self.mailbox.is_some() {
            Some("mailbox")
        } else {
            self.vcgencmd.is_some().then_some("vcgencmd")
        }
    }

    /// The throttling word from the first source that works; `None` without sources.
    ///
    /// # Errors
    /// The error of the first source, when none works.
    pub async fn throttled(&self) -> io::Result<Option<Throttled>> {
        let mut fault = None;
        let mut worked = |word: io::Result<u32>| match word {
            Ok(word) => Some(Ok(Some(Throttled(word)))),
            Err(error) => {
                fault.get_or_insert(error);
                None
            }
        };
        if let Some(board) = &self.simulated {
            return board.throttled().map(|word| Some(Throttled(word)));
        }
        if let Some(answer) = self.file.as_deref().and_then(|file| worked(hexadecimal(file, self.root.line(file)))) {
            return answer;
        }
        if let Some(mailbox) = &self.mailbox
            && let Some(answer) = worked(mailbox().await)
        {
            return answer;
        }
        if let Some(program) = &self.vcgencmd {
            let said = program.ask("get_throttled", "throttled").await;
            if let Some(answer) = worked(hexadecimal("vcgencmd get_throttled", said)) {
                return answer;
            }
        }
        fault.map_or(Ok(None), Err)
    }

    /// `vcgencmd get_rsts`: the register PM_RSTS at the start; `None` when the program is missing, or the firmware too
    /// old.
    ///
    /// # Errors
    /// Those of running it.
    pub(super) async fn reset_word(&self) -> io::Result<Option<u32>> {
        let Some(program) = &self.vcgencmd else { return Ok(None) };
        let ask = || async {
            match program.ask("get_rsts", "get_rsts").await {
                Ok(said) => hexadecimal("vcgencmd get_rsts", Ok(said)).map(Some),
                // It gave another answer, and will do so again.
                Err(fault) if fault.kind() == io::ErrorKind::Other => Ok(None),
                Err(fault) => Err(fault),
            }
        };
        self.reset.get_or_try_init(ask).await.copied()
    }

    /// `vcgencmd measure_temp`, in degrees Celsius; `None` where the program is missing.
    pub(super) async fn measured_celsius(&self) -> Option<io::Result<f64>> {
        let program = self.vcgencmd.as_ref()?;
        Some(program.ask("measure_temp", "temp").await.and_then(|said| {
            said.strip_suffix("'C")
                .and_then(|degrees| degrees.parse().ok())
                .ok_or_else(|| malformed("vcgencmd measure_temp", &format!("'{said}' is no temperature")))
        }))
    }
}

/// `soc/soc:firmware`, on the Raspberry Pi 5 `soc@107c000000/soc@107c000000:firmware`, on mainline kernels one level up.
fn find(root: &Root) -> Option<String> {
    let names = root.list(PLATFORM).ok()?;
    let below = names.iter().filter(|name| name.starts_with("soc")).flat_map(|soc| {
        let folder = format!("{PLATFORM}/{soc}");
        root.list(&folder).unwrap_or_default().into_iter().map(move |name| format!("{folder}/{name}"))
    });
    let all: Vec<String> = below.chain(names.iter().map(|name| format!("{PLATFORM}/{name}"))).collect();
    let file = all.iter().filter(|path| path.ends_with("firmware")).map(|path| format!("{path}/get_throttled"));
    file.into_iter().find(|path| root.has(path))
}

/// `50005` or `0x50005`.
fn hexadecimal(source: &str, said: io::Result<String>) -> io::Result<u32> {
    let said = said?;
    let digits = said.trim().trim_start_matches("0x");
    u32::from_str_radix(digits, 16).map_err(|_| malformed(source, &format!("'{said}' is no hexadecimal number")))
}
