//! Prints the output of commands. On a terminal, control characters are escaped ([`crate::terminal`]). If the reader
//! has closed the pipe (`| head`, `| grep -q`), the rest is dropped without an error. If it cannot be written for another
//! reason (a full disk), the command does its work and then fails ([`failure`]).

use super::exit::{Exit, Failure};
use crate::terminal;
use std::{fmt::Arguments, io, sync::OnceLock};

/// The first error of standard output, other than a closed pipe.
static LOST: OnceLock<io::Error> = OnceLock::new();

pub(super) fn say(text: Arguments<'_>) {
    // What follows would have a hole before it.
    if LOST.get().is_none() {
        written(terminal::out(text));
    }
}

/// Keeps the error of something that was written to standard output.
pub(super) fn written(outcome: io::Result<()>) {
    if let Err(error) = outcome
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // Only the first is told.
        let _ = LOST.set(error);
    }
}

/// The failure of a command whose output is not whole. Called at its end.
///
/// # Errors
/// [`Exit::Failed`] if something could not be written.
pub(super) fn failure() -> Result<(), Failure> {
    written(io::Write::flush(&mut io::stdout()));
    LOST.get().map_or(Ok(()), |error| {
        Err(Failure::new(
            Exit::Failed,
            format!("standard output cannot be written, so what was printed is not whole: {error}\n  the command itself has run; look at its outcome before you repeat it"),
        ))
    })
}

macro_rules! out {
    ($($text:tt)*) => { $crate::cli::say::say(format_args!($($text)*)) };
}

macro_rules! outln {
    ($($text:tt)*) => {{
        $crate::cli::say::out!($($text)*);
        $crate::cli::say::out!("\n");
    }};
}

/// Prints a line on standard error.
macro_rules! errln {
    ($($text:tt)*) => {{
        $crate::terminal::err(format_args!($($text)*));
        $crate::terminal::err(format_args!("\n"));
    }};
}

pub(super) use {errln, out, outln};
