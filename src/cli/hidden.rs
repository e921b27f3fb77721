//! A line that is typed at a terminal and not shown.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;

/// Puts the terminal back as it was.
struct Silent(Termios);

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// Reads a line of standard input, which is a terminal.
///
/// # Errors
/// Those of the terminal.
pub fn typed() -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
    let _restored = Silent(before);
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line)
}
