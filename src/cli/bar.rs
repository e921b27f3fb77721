//! How far long work is: one line on standard error that is drawn again and again. Where that is no terminal, nothing.

use crate::terminal::printable;
use rustix::termios::tcgetwinsize;
use std::{
    io::{IsTerminal, Write, stderr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Width of the bar in characters.
const WIDTH: usize = 30;
/// Shortest time between two redraws: a serial console has 115200 bits a second.
const PACE: Duration = Duration::from_millis(100);
/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// The line. It goes away with this value, or with [`Bar::clear`].
pub struct Bar {
    terminal: bool,
    drawn: Mutex<Option<Instant>>,
}

impl Default for Bar {
    fn default() -> Self {
        Self { terminal: stderr().is_terminal(), drawn: Mutex::default() }
    }
}

impl Bar {
    /// Whether anybody can see it.
    pub fn is_shown(&self) -> bool {
        self.terminal
    }

    /// Shows that `done` of `total` is done, in any unit; a `total` of 0 is not known. `word` says what is done, in at most
    /// ten characters. What comes too soon after the last redraw is left out, but not the end.
    pub fn show(&self, word: &str, done: u64, total: u64, message: &str) {
        let mut drawn = self.drawn();
        if !self.terminal || (done < total && drawn.is_some_and(|drawn| drawn.elapsed() < PACE)) {
            return;
        }
        *drawn = Some(Instant::now());
        let columns = tcgetwinsize(stderr()).map_or(0, |size| size.ws_col.into());
        let columns = if columns == 0 { COLUMNS } else { columns };
        // What is wrapped would stay. A closed terminal is ignored.
        let line: String = line(word, done, total, &printable(message)).chars().take(columns - 1).collect();
        let _ = write!(stderr(), "\r\x1b[K{line}");
        let _ = stderr().flush();
    }

    /// Takes the line away, so that something else can be printed.
    pub fn clear(&self) {
        if self.drawn().take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    fn drawn(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// One line of progress.
fn line(word: &str, done: u64, total: u64, message: &str) -> String {
    let Some(share) = done.min(total).saturating_mul(100).checked_div(total) else {
        return format!("{word:<10} {message}");
    };
    let full = WIDTH * share as usize / 100;
    format!("{word:<10} [{}{}] {share:>3} %  {message}", "#".repeat(full), " ".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_full_as_the_work_is_done() {
        assert_eq!(line("writing", 0, 0, "soon"), "writing    soon");
        assert!(line("writing", 0, 7, "x").contains(&format!("[{}]   0 %", " ".repeat(WIDTH))));
        assert!(line("writing", 7, 7, "x").contains(&format!("[{}] 100 %", "#".repeat(WIDTH))));
        assert!(line("writing", 9, 7, "x").contains("100 %"), "never more than all");
        assert_eq!(line("writing", u64::MAX, u64::MAX, "").matches('#').count(), 0, "and no overflow");
    }
}
