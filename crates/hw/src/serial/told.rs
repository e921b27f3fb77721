//! Why a port cannot be had or used, and the errors that say so.

use base::error::{ErrorCode, ToolError};
use std::{io, time::Duration};

/// Why a call failed.
#[derive(Debug)]
pub enum SerialError {
    /// There is no such port, or nothing is behind it.
    NoPort,
    /// It is no serial port: a console of the screen, or another kind of device.
    NotSerial,
    /// This process may not open it.
    NotLetIn(io::Error),
    /// This system needs it itself, for this.
    System(String),
    /// Another program has it for itself.
    Held,
    /// Its driver cannot do that.
    Unsupported(String),
    /// Another caller has it, for so long unless it is used.
    Lent {
        to: String,
        free_in: Option<Duration>,
    },
    /// This caller has not opened it.
    NotOpen,
    /// Too many ports are open.
    TooMany(usize),
    /// The caller is gone.
    Gone,
    /// The line is gone, after this fault if there was one.
    HungUp(Option<io::Error>),
    /// So many bytes had left when the time was over. `kept`: so many could not be dropped.
    Slow {
        sent: usize,
        of: usize,
        kept: usize,
        waited: Duration,
    },
    Other(io::Error),
    /// The call was cancelled, or its thread did not run.
    Call(ToolError),
}

impl From<io::Error> for SerialError {
    fn from(fault: io::Error) -> Self {
        use rustix::io::Errno;
        match fault.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT | Errno::NODEV | Errno::NXIO) => Self::NoPort,
            Some(Errno::ACCESS | Errno::PERM) => Self::NotLetIn(fault),
            Some(Errno::BUSY) => Self::Held,
            Some(Errno::NOTTY) => Self::NotSerial,
            Some(Errno::IO | Errno::PIPE | Errno::CONNRESET) => Self::HungUp(Some(fault)),
            _ => Self::Other(fault),
        }
    }
}

/// How the UART of the header is switched on. On a Raspberry Pi 5 `enable_uart=1` is about the debug connector between the HDMI
/// sockets, which has the kernel's console (raspberrypi/documentation#3239).
pub const HEADER_UART: &str = "the header's UART (contacts 8 and 10) needs enable_uart=1 in config.txt and a restart; on a Raspberry Pi 5 it \
     needs dtparam=uart0=on and is ttyAMA0, for serial0 is the debug connector there";

impl From<rustix::io::Errno> for SerialError {
    fn from(errno: rustix::io::Errno) -> Self {
        io::Error::from(errno).into()
    }
}

impl SerialError {
    /// The error of a call about this port.
    pub fn told(self, port: &str) -> ToolError {
        let what = format!("serial port {port}");
        let (word, error) = match self {
            Self::NoPort => (
                "no_port",
                ToolError::missing(format!("there is no {what}"))
                    .hint(format!("serial.list_ports shows those there are; {HEADER_UART}")),
            ),
            Self::NotSerial => (
                "not_serial",
                ToolError::precondition(format!("/dev/{port} is no serial port"))
                    .hint("serial.list_ports shows the serial ports"),
            ),
            Self::NotLetIn(fault) => (
                "no_access",
                ToolError::unavailable(format!("this server may not open {what}: {fault}"))
                    .with("resource", format!("/dev/{port}"))
                    .hint("add its user to the group dialout and restart; under systemd the unit has to name the device"),
            ),
            Self::System(why) => (
                "system",
                ToolError::precondition(format!("{what} is {why}")).hint(
                    "free it first: take console= of that port out of the kernel's command line, and stop its login prompt \
                     (systemctl disable --now serial-getty@PORT; raspi-config has both under Serial Port)",
                ),
            ),
            Self::Held => (
                "held",
                ToolError::precondition(format!("{what} is in use by another program"))
                    .hint("stop what uses it: gpsd, ModemManager, a terminal program"),
            ),
            Self::Unsupported(why) => (
                "unsupported",
                ToolError::precondition(format!("{what} cannot do that: {why}")).hint("take other line settings"),
            ),
            Self::Lent { to, free_in } => {
                let error = ToolError::new(ErrorCode::Conflict, format!("{what} is open for {to}")).with("open_for", to);
                let seconds = free_in.map(|time| time.as_secs_f64().ceil() as u64);
                let error = error.with_some("free_in_seconds", seconds);
                ("lent", error.hint("wait until it is closed: by serial.close, when its lease is over, or with its connection"))
            }
            Self::NotOpen => (
                "not_open",
                ToolError::precondition(format!("{what} is not open for you")).hint("open it with serial.open first"),
            ),
            Self::TooMany(most) => (
                "too_many",
                ToolError::exhausted(format!("{what} is not opened: {most} ports are open"))
                    .with("limit", most)
                    .hint("close one with serial.close"),
            ),
            Self::Gone => return ToolError::cancelled("serial"),
            Self::HungUp(fault) => {
                let why = fault.map(|fault| format!(": {fault}")).unwrap_or_default();
                let error = ToolError::unavailable(format!("{what} is gone{why}"));
                ("hung_up", error.hint("its USB device was unplugged, or the other end hung up; open it again with serial.open"))
            }
            Self::Slow { sent, of, kept, waited } => {
                let rest = match (of - sent).saturating_sub(kept) {
                    0 if kept == 0 => String::new(),
                    0 => format!("; {kept} are in its driver, which may send them later"),
                    dropped if kept == 0 => format!("; {dropped} were dropped"),
                    dropped => format!("; {dropped} were dropped, and {kept} are in its driver, which may send them later"),
                };
                let says = format!("{what} sent {sent} of {of} bytes in {} ms{rest}", waited.as_millis());
                let mut error = ToolError::new(ErrorCode::Timeout, says);
                error.timeout_ms = u64::try_from(waited.as_millis()).ok();
                let error = error.with("bytes_written", sent);
                ("slow", error.hint("the other end may hold the line (flow control): look at it, or take a longer timeout_ms"))
            }
            Self::Other(fault) => (
                "io",
                ToolError::unavailable(format!("{what} failed: {fault}"))
                    .hint("try again; the kernel's log may say more (logs.query_journal)"),
            ),
            Self::Call(error) => return error,
        };
        error.with("port", port).with("fault", word)
    }
}
