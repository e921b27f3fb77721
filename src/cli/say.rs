//! What a command says on its standard output. A reader that has gone (`| head`, `| grep -q`) has what it wanted: the rest is
//! dropped, and that is no failure.

use std::{
    fmt::Arguments,
    io::{self, Write},
};

/// # Panics
/// When it cannot be written for another reason, as `print!` does.
pub(super) fn say(text: Arguments<'_>) {
    match io::stdout().lock().write_fmt(text) {
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

pub(super) use {out, outln};
