//! Where answers come from: what a person types after they were asked, and nothing typed before.

use rustix::{
    io::Errno,
    termios::{QueueSelector, tcdrain, tcflush, tcgetwinsize},
};
use std::io;

/// Longest answer; what comes after it on the line is no part of one.
const LONGEST: usize = 64;
/// Where nothing is known of the screen.
const COLUMNS: usize = 80;

/// A person's keyboard, and how wide their screen is.
pub trait Keyboard {
    /// Drops what was typed so far, half lines too.
    ///
    /// # Errors
    /// When that cannot be done: then no answer can be believed.
    fn forget(&mut self) -> io::Result<()>;

    /// The next line, or nothing at the end of input.
    ///
    /// # Errors
    /// Those of reading.
    fn line(&mut self) -> io::Result<String>;

    /// Columns of the screen.
    fn columns(&self) -> usize {
        COLUMNS
    }
}

/// The terminal this process was started in.
pub(super) struct Terminal;

impl Keyboard for Terminal {
    fn forget(&mut self) -> io::Result<()> {
        // The question first: it is on the screen when the answer begins.
        tcdrain(io::stdout())?;
        Ok(tcflush(io::stdin(), QueueSelector::IFlush)?)
    }

    /// Reads no more than the line: a buffer would keep what comes after it from [`Keyboard::forget`].
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
        // Longer than any answer is none.
        Ok(if too_long { String::new() } else { String::from_utf8_lossy(&line).into_owned() })
    }

    fn columns(&self) -> usize {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 => size.ws_col.into(),
            _ => COLUMNS,
        }
    }
}

/// Keys that were pressed beforehand, each line after its question: for tests.
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
