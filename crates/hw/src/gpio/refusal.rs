//! Why a pin was not leased, driven or listened to.

use crate::line::LineError;
use crate::pwm;
use std::{io, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum GpioRefusal {
    /// Another caller has it; free after this time, unless the lease ends with a connection.
    #[error("it is lent to {to}")]
    Lent { to: String, free_in: Option<Duration> },
    /// It is unused, so there is no lease to end.
    #[error("it is not lent to anybody")]
    NotLent,
    /// It is an input where an output is needed, or the reverse.
    #[error("it is {0}")]
    Is(&'static str),
    /// It has another function than GPIO.
    #[error("it is in use as {0}")]
    Alt(String),
    /// The caller's connection has ended.
    #[error("the connection it would be lent to has ended")]
    Gone,
    /// The machine was halted while the call was on its way.
    #[error("the machine is halted")]
    Halted,
    /// The pin could not be recorded, which is required before it is driven.
    #[error("what is driven cannot be recorded: {0}")]
    Record(io::Error),
    /// A wave cannot run. For a software wave also why it is not hardware.
    #[error("{fault}")]
    Pwm { fault: pwm::PwmError, without: Option<pwm::Without> },
    #[error(transparent)]
    Fault(#[from] LineError),
}
