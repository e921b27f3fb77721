//! Secrets that a person types, or that come from standard input; never from the command line, which all users of a machine
//! can read.

use super::exit::{Exit, Failure};
use crate::terminal;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal, Read};

/// Longest input, in bytes.
pub const LONGEST: u64 = 4096;

/// A kind of secret, for messages.
pub struct HiddenInput {
    /// As in "the password cannot be read".
    pub what: &'static str,
    /// The option that names a file with it.
    pub option: &'static str,
}

impl HiddenInput {
    /// What is typed at the terminal after `question`, without being shown.
    ///
    /// # Errors
    /// [`Exit::Usage`] where there is no terminal; [`Exit::Failed`] for those of the terminal.
    pub fn asked(&self, question: &str) -> Result<String, Failure> {
        if !io::stdin().is_terminal() {
            let Self { what, option } = self;
            return Err(Failure::new(
                Exit::Usage,
                format!("the {what} is asked for on a terminal; elsewhere give {option} FILE, or - for standard input"),
            ));
        }
        terminal::err(format_args!("{question}"));
        let typed = typed().map_err(|error| self.unread(&error))?;
        terminal::err(format_args!("\n"));
        Ok(typed)
    }

    /// At most [`LONGEST`] bytes of `from`, such as standard input.
    ///
    /// # Errors
    /// [`Exit::Failed`] for what cannot be read.
    pub fn read(&self, from: impl Read) -> Result<String, Failure> {
        let mut text = String::new();
        from.take(LONGEST).read_to_string(&mut text).map_err(|error| self.unread(&error))?;
        Ok(text)
    }

    /// Why it could not be read.
    pub fn unread(&self, error: &io::Error) -> Failure {
        Failure::new(Exit::Failed, format!("the {} cannot be read: {error}", self.what))
    }
}

/// Puts the terminal back as it was.
struct Silent(Termios);

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

fn typed() -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
    let _restored = Silent(before);
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line)
}
