//! What every GPIO backend keeps: lines can be looked at without touching them, and taken, by one holder at a time.
//!
//! The kernel's word for a numbered contact of a GPIO chip is *line*, for the name its holder gives itself *consumer*
//! (Documentation/userspace-api/gpio/chardev_v1.rst).

pub use contract::values::{Level, Pull};

use contract::values::Pin;
use serde::{Deserialize, Serialize};
use std::{
    io,
    task::{self, Poll},
    time::Duration,
};

/// A change of level, as the kernel saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The level after it: a rising edge ends high.
    pub to: Level,
    /// When, by the monotonic clock (Linux 5.7 and later): time since the machine started, without sleep.
    pub at: Duration,
}

/// How a line is taken.
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

/// What a pin is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    Input,
    Output,
    /// Something else than GPIO, by the name of its data sheet where it is known: `PWM0`, `TXD1`, `i2c1`.
    Alt(String),
    Unknown,
}

/// What is known of a line that was not touched for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub function: Function,
    /// The kernel tells it to the holder of a line only; registers tell it to anybody.
    pub level: Option<Level>,
    /// Whether somebody holds it, we or others.
    pub held: bool,
    /// What the holder calls itself.
    pub consumer: Option<String>,
}

/// Why a line did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Somebody else holds it: another process or a kernel driver.
    #[error("it is held by {}", .consumer.as_deref().unwrap_or("a consumer that gives no name"))]
    Busy { consumer: Option<String> },
    /// This board has no GPIO chip that we could use.
    #[error("{0}")]
    NoChip(String),
    /// The chip has no line of that number.
    #[error("{0}")]
    NoLine(String),
    /// It was let go while somebody waited for it.
    #[error("the line was let go")]
    Closed,
    /// This chip cannot do that.
    #[error("{0}")]
    Unsupported(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The GPIO lines of a board.
pub trait Port: Send + Sync {
    /// What is behind it, for people: `/dev/gpiochip0 (pinctrl-bcm2711)`.
    fn name(&self) -> String;

    /// Whether it reads the registers itself, so that nobody has to tell it what a pin is.
    fn reads_registers(&self) -> bool {
        true
    }

    /// What is known of a line, without touching it.
    ///
    /// # Errors
    /// When the chip cannot be asked.
    fn look(&self, pin: Pin) -> Result<Look, Fault>;

    /// Takes a line. It is ours until the line is closed or dropped, or this process ends in whatever way: that the kernel
    /// guarantees. `consumer` is what others are told; 31 bytes of it.
    ///
    /// # Errors
    /// [`Fault::Busy`] when it is held already, also by ourselves.
    fn take(&self, pin: Pin, how: Take, consumer: &str) -> Result<Box<dyn Line>, Fault>;

    /// The level of a line that nobody holds, which is left as it was found.
    ///
    /// # Errors
    /// As [`Port::take`]; [`Fault::Unsupported`] where a look would change the line.
    fn peek(&self, pin: Pin) -> Result<Level, Fault>;
}

/// A line that is held. Calls on the memory-mapped chips of these boards take microseconds and never wait.
pub trait Line: Send + Sync {
    /// What is on the line now, whoever drives it.
    ///
    /// # Errors
    /// [`Fault::Closed`], or the kernel's.
    fn level(&self) -> Result<Level, Fault>;

    /// Drives an output.
    ///
    /// # Errors
    /// As [`Line::level`]; [`Fault::Unsupported`] for an input.
    fn set(&self, level: Level) -> Result<(), Fault>;

    /// The next edge of an input that has not been told yet. One waits at a time; a line that is closed meanwhile answers
    /// [`Fault::Closed`].
    fn poll_edge(&self, cx: &mut task::Context<'_>) -> Poll<Result<Edge, Fault>>;

    /// Forgets edges that nobody has asked for.
    fn forget_edges(&self);

    /// Lets go of it. Later calls answer [`Fault::Closed`].
    fn close(&self);
}
