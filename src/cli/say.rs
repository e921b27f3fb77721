//! What a command says: on its standard output, and beside it. On a terminal nothing that is said moves the cursor
//! ([`crate::terminal`]). A reader that has gone (`| head`, `| grep -q`) has what it wanted: the rest is dropped, and that is no
//! failure.

use crate::terminal;
use std::{fmt::Arguments, io};

/// # Panics
/// When it cannot be written for another reason, as `print!` does.
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

/// A line on standard error.
macro_rules! errln {
    ($($text:tt)*) => {{
        $crate::terminal::err(format_args!($($text)*));
        $crate::terminal::err(format_args!("\n"));
    }};
}

pub(super) use {errln, out, outln};
