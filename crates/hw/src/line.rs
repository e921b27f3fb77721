//! The port to GPIO lines: state without requesting them, and requests by one holder at a time.
//!
//! Terms are the kernel's: a *line* is a numbered contact of a GPIO chip, a *consumer* is the label of its holder
//! (Documentation/userspace-api/gpio/chardev_v1.rst).

pub use contract::values::{Level, Pull};

use contract::values::Pin;
use serde::{Deserialize, Serialize};
use std::{
    io,
    task::{self, Poll},
    time::Duration,
};

/// A change of level, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The level after it: high for a rising edge.
    pub to: Level,
    /// The time by the monotonic clock (Linux 5.7 and later): since the machine started, without suspend.
    pub at: Duration,
}

/// How a line is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Without a pull the resistors stay as they are.
    Input {
        pull: Option<Pull>,
    },
    Output {
        level: Level,
    },
}

/// The current function of a pin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    Input,
    Output,
    /// A function other than GPIO, by its name in the data sheet if known: `PWM0`, `TXD1`, `i2c1`.
    Alt(String),
    /// None: nothing has used the pin since power-on. A Raspberry Pi 5 starts with its unused pins like this
    /// (`RP1_FSEL_NONE_HW`, 31), older boards with inputs. Its input is switched off, so it has no level.
    NoFunction,
    Unknown,
}

/// The state of a line, read without requesting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInfo {
    pub function: Function,
    /// Through the kernel only the holder can read it; through registers anyone.
    pub level: Option<Level>,
    /// Whether it is held, by us or by others.
    pub held: bool,
    /// The holder's label.
    pub consumer: Option<String>,
}

/// Why an access to a line failed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Held by another process or a kernel driver.
    #[error("it is held by {}", .consumer.as_deref().unwrap_or("a consumer that gives no name"))]
    Busy { consumer: Option<String> },
    /// This board has no usable GPIO chip.
    #[error("{0}")]
    NoChip(String),
    /// The chip has no line of that number.
    #[error("{0}")]
    NoLine(String),
    /// It was released while a task waited for it.
    #[error("the line was let go")]
    Closed,
    /// This chip does not support it.
    #[error("{0}")]
    Unsupported(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl LineError {
    /// The pin has no level: see [`Function::NoFunction`].
    pub(crate) fn no_level() -> Self {
        Self::Unsupported(
            "nothing has used this pin since power-on: its input is switched off, so it has no level".into(),
        )
    }
}

/// The GPIO lines of a board.
pub trait GpioPort: Send + Sync {
    /// Its name for people: `/dev/gpiochip0 (pinctrl-bcm2711)`.
    fn name(&self) -> String;

    /// Whether it reads the registers itself, so that functions need not come from the agent.
    fn reads_registers(&self) -> bool {
        true
    }

    /// The state of a line, without requesting it.
    ///
    /// # Errors
    /// When the chip cannot be queried.
    fn look(&self, pin: Pin) -> Result<LineInfo, LineError>;

    /// Requests a line. It is ours until it is closed or dropped, or this process ends in any way, which the kernel
    /// guarantees. `consumer` is the label for others, of which 31 bytes are used.
    ///
    /// # Errors
    /// [`LineError::Busy`] when it is held already, also by this process.
    fn take(&self, pin: Pin, how: Take, consumer: &str) -> Result<Box<dyn Line>, LineError>;

    /// The level of an unused line, which is left unchanged.
    ///
    /// # Errors
    /// As [`GpioPort::take`]; [`LineError::Unsupported`] where reading would change the line.
    fn peek(&self, pin: Pin) -> Result<Level, LineError>;
}

/// A held line. Calls on the memory-mapped chips of these boards take microseconds and never block.
pub trait Line: Send + Sync {
    /// The current level, whatever drives it.
    ///
    /// # Errors
    /// [`LineError::Closed`], or the kernel's.
    fn level(&self) -> Result<Level, LineError>;

    /// Drives an output.
    ///
    /// # Errors
    /// As [`Line::level`]; [`LineError::Unsupported`] for an input.
    fn set(&self, level: Level) -> Result<(), LineError>;

    /// The next unread edge of an input. One task may wait at a time; if the line is closed meanwhile it gets
    /// [`LineError::Closed`].
    fn poll_edge(&self, cx: &mut task::Context<'_>) -> Poll<Result<Edge, LineError>>;

    /// Discards unread edges.
    fn forget_edges(&self);

    /// Releases it. Later calls return [`LineError::Closed`].
    fn close(&self);
}
