//! Reads answers: only what was typed after the question was shown.

use rustix::{
    io::Errno,
    termios::{QueueSelector, tcdrain, tcflush, tcgetwinsize},
};
use std::io;

/// Longest answer, in bytes; longer lines are invalid.
const LONGEST: usize = 64;
/// Used if the width of the screen is unknown.
const COLUMNS: usize = 80;

/// A person's keyboard and the width of their screen.
pub trait Keyboard {
    /// Discards all typed input, including unfinished lines.
    ///
    /// # Errors
    /// If that is not possible: no answer can then be trusted.
    fn forget(&mut self) -> io::Result<()>;

    /// The next line, or an empty string at the end of input.
    ///
    /// # Errors
    /// Those of reading.
    fn line(&mut self) -> io::Result<String>;

    /// Width of the screen in columns.
    fn columns(&self) -> usize {
        COLUMNS
    }
}

/// The terminal of this process.
pub struct Terminal;

impl Keyboard for Terminal {
    fn forget(&mut self) -> io::Result<()> {
        // Make sure that the question is on the screen first. Standard output may be another file; the keyboard's terminal is not.
        tcdrain(io::stdin())?;
        Ok(tcflush(io::stdin(), QueueSelector::IFlush)?)
    }

    /// Reads no further than the line: a buffer would hide later input from [`Keyboard::forget`].
    fn line(&mut self) -> io::Result<String> {
        let (mut line, mut too_long, mut byte) = (Vec::new(), false, [0]);
        loop {
            match rustix::io::read(io::stdin(), &mut byte) {
                Ok(0) => break,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) if line.len() < LONGEST => line.push(byte[0]),
                Ok(_) => too_long = true,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // A line that is too long is not an answer.
        Ok(if too_long { String::new() } else { String::from_utf8_lossy(&line).into_owned() })
    }

    fn columns(&self) -> usize {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 => size.ws_col.into(),
            _ => COLUMNS,
        }
    }
}

/// Prepared input, one line for each question: for tests.
impl Keyboard for &[u8] {
    fn forget(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        io::BufRead::read_line(self, &mut line)?;
        Ok(line)
    }
}
