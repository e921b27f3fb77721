//! How far a command is that asks many devices: one line on a terminal, and nothing elsewhere.

use std::{
    cell::Cell,
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

/// Shortest time between two redraws.
const PACE: Duration = Duration::from_millis(100);

/// The line.
pub struct ProgressLine {
    terminal: bool,
    drawn: Cell<Option<Instant>>,
}

impl ProgressLine {
    pub fn new() -> Self {
        Self { terminal: stderr().is_terminal(), drawn: Cell::new(None) }
    }

    /// Shows that `done` of `all` devices `what`.
    pub fn show(&self, done: usize, all: usize, what: &str) {
        let early = done < all && self.drawn.get().is_some_and(|drawn| drawn.elapsed() < PACE);
        if !self.terminal || early {
            return;
        }
        self.drawn.set(Some(Instant::now()));
        // A closed terminal is ignored.
        let _ = write!(stderr(), "\r\x1b[K{done} of {all} {what}");
        let _ = stderr().flush();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.drawn.get().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
