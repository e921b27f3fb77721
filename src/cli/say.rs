//! Prints the output of commands. On a terminal, control characters are escaped ([`crate::terminal`]). If the reader
//! has closed the pipe (`| head`, `| grep -q`), the rest is dropped without an error.

use crate::terminal;
use std::{fmt::Arguments, io};

/// # Panics
/// If it cannot be written for another reason, as `print!` does.
pub(super) fn say(text: Arguments<'_>) {
    match terminal::out(text) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => panic!("standard output cannot be written: {error}"),
    }
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
