//! Why a pin was not lent, driven or listened to.

use crate::line::Fault;
use crate::pwm;
use std::{io, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Another caller has it; it is free after so long, where it does not end with a connection.
    #[error("it is lent to {to}")]
    Lent { to: String, free_in: Option<Duration> },
    /// Nobody has it, so there is nothing to end.
    #[error("it is not lent to anybody")]
    NotLent,
    /// It is an input where an output is needed, or the other way round.
    #[error("it is {0}")]
    Is(&'static str),
    /// It has another function than GPIO.
    #[error("it is in use as {0}")]
    Alt(String),
    /// The caller's connection has ended meanwhile.
    #[error("the connection it would be lent to has ended")]
    Gone,
    /// What is driven must be known after a crash.
    #[error("what is driven cannot be recorded: {0}")]
    Record(io::Error),
    /// A wave does not run. Where it would be software's, why it is.
    #[error("{fault}")]
    Pwm { fault: pwm::Fault, without: Option<pwm::Without> },
    #[error(transparent)]
    Fault(#[from] Fault),
}
