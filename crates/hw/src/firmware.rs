//! The Raspberry Pi firmware's state of power and temperature: the throttling word.
//!
//! Three sources, tried in this order: the mailbox `/dev/vcio`, the program `vcgencmd`, the kernel's file
//! `get_throttled`. The first two ask the firmware's own record of what has occurred since boot. The file's record is the
//! kernel's, which clears it every two seconds (`drivers/hwmon/raspberrypi-hwmon.c` polls with the value 0xffff); kernels
//! for the Raspberry Pi 5 have no such file, and others log a warning when it is first read.

use super::{
    board::{Board, SimulatedBoard},
    model::BoardKind,
    vcgencmd::{self, Vcgencmd},
};
use base::os::{Root, ioctl, malformed};
use futures::future::BoxFuture;
use std::{fs::File, io, sync::Arc};
use tokio::sync::OnceCell;

const PLATFORM: &str = "sys/devices/platform";

/// Asks the firmware for the word through the mailbox. Only the privileged half may open `/dev/vcio` itself
/// ([`throttled_by_mailbox`]); the other half gets this function, or none.
pub type Mailbox = Box<dyn Fn() -> BoxFuture<'static, io::Result<u32>> + Send + Sync>;

/// The mailbox on Raspberry Pi kernels.
pub const VCIO: &str = "dev/vcio";
/// The command of the firmware, and the name in its answer.
const COMMAND: (&str, &str) = ("get_throttled", "throttled");

/// The throttling word from the mailbox below `root`, with all that has occurred since boot: the answer to the command that
/// `vcgencmd` sends. The mailbox's property of that name shares its record with the kernel, which clears it. Blocks, so
/// call it where that is allowed.
///
/// # Errors
/// Those of opening it (`NotFound` on kernels without it) and of the firmware.
pub fn throttled_by_mailbox(root: &Root) -> io::Result<u32> {
    let vcio = File::options().read(true).write(true).open(root.path(VCIO))?;
    let (command, name) = COMMAND;
    let said = ioctl::firmware_command(&vcio, command)?;
    match vcgencmd::value(&said, name) {
        Some(word) => hexadecimal(VCIO, Ok(word.to_owned())),
        None => {
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("this firmware answers {command} with '{said}'")))
        }
    }
}

/// The throttling word (Raspberry Pi documentation, `vcgencmd get_throttled`): bits 0-3 are current, bits 16-19 are what
/// has occurred, since boot or within the last seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    word: u32,
    since_boot: bool,
}

impl Throttled {
    /// The firmware's own record.
    pub const fn since_boot(word: u32) -> Self {
        Self { word, since_boot: true }
    }

    /// The kernel's record, which it clears every two seconds.
    pub const fn last_seconds(word: u32) -> Self {
        Self { word, since_boot: false }
    }

    /// Whether the flags `occurred` tell of the whole time since boot.
    pub const fn remembers(self) -> bool {
        self.since_boot
    }

    const fn bit(self, number: u32) -> bool {
        self.word >> number & 1 == 1
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

    /// The first source to try: `simulated`, `mailbox`, `vcgencmd`, `sysfs`; `None` without one.
    pub fn source(&self) -> Option<&'static str> {
        if self.simulated.is_some() {
            Some("simulated")
        } else if self.mailbox.is_some() {
            Some("mailbox")
        } else if self.vcgencmd.is_some() {
            Some("vcgencmd")
        } else {
            self.file.is_some().then_some("sysfs")
        }
    }

    /// The throttling word from the first source that works; `None` without sources.
    ///
    /// # Errors
    /// The error of the first source, when none works.
    pub async fn throttled(&self) -> io::Result<Option<Throttled>> {
        let mut fault = None;
        let mut worked = |word: io::Result<u32>| match word {
            Ok(word) => Some(word),
            Err(error) => {
                fault.get_or_insert(error);
                None
            }
        };
        if let Some(board) = &self.simulated {
            return board.throttled().map(|word| Some(Throttled::since_boot(word)));
        }
        if let Some(mailbox) = &self.mailbox
            && let Some(word) = worked(mailbox().await)
        {
            return Ok(Some(Throttled::since_boot(word)));
        }
        if let Some(program) = &self.vcgencmd {
            let said = program.ask(COMMAND.0, COMMAND.1).await;
            if let Some(word) = worked(hexadecimal("vcgencmd get_throttled", said)) {
                return Ok(Some(Throttled::since_boot(word)));
            }
        }
        if let Some(word) = self.kernels_word().and_then(worked) {
            return Ok(Some(Throttled::last_seconds(word)));
        }
        fault.map_or(Ok(None), Err)
    }

    /// The word from a source that starts no process and asks no other: the simulated board, or the kernel's file.
    /// `None` where there is neither, or the file cannot be read.
    pub fn throttled_now(&self) -> Option<Throttled> {
        match &self.simulated {
            Some(board) => board.throttled().ok().map(Throttled::since_boot),
            None => self.kernels_word()?.ok().map(Throttled::last_seconds),
        }
    }

    fn kernels_word(&self) -> Option<io::Result<u32>> {
        self.file.as_deref().map(|file| hexadecimal(file, self.root.line(file)))
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
