//! Progress of an installation: a bar on a terminal, otherwise one line for each phase.

use crate::{cli::say::errln, terminal::printable};
use futures::future::{BoxFuture, FutureExt, ready};
use std::{
    io::{IsTerminal, Write, stderr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use update::{
    job::{FoundRelease, phase_word},
    status::Phase,
};
use update_client::upload::ProgressSink;

/// Width of the bar in characters.
const WIDTH: usize = 30;
/// Shortest time between two redraws: a serial console has 115200 bits a second.
const PACE: Duration = Duration::from_millis(100);

pub struct Bar {
    terminal: bool,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    phase: Option<Phase>,
    drawn: Option<Instant>,
}

impl Default for Bar {
    fn default() -> Self {
        Self { terminal: stderr().is_terminal(), now: Mutex::default() }
    }
}

impl Bar {
    /// Ends the line.
    pub fn end(&self) {
        if self.terminal && self.now.lock().unwrap_or_else(PoisonError::into_inner).drawn.is_some() {
            errln!("");
        }
    }

    fn show(&self, phase: Option<Phase>, done: u64, total: u64, message: &str) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let entered = phase.is_some() && phase != now.phase;
        now.phase = phase.or(now.phase);
        let word = now.phase.map_or("", phase_word);
        if !self.terminal {
            if entered {
                errln!("{word}: {message}");
            }
            return;
        }
        if !entered && done < total && now.drawn.is_some_and(|drawn| drawn.elapsed() < PACE) {
            return;
        }
        now.drawn = Some(Instant::now());
        // Ignore a closed terminal.
        let _ = write!(stderr(), "\r\x1b[K{}", line(word, done, total, &printable(message)));
        let _ = stderr().flush();
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

impl ProgressSink for Bar {
    fn release(&self, _: FoundRelease) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
    fn step(&self, phase: Phase, done: u64, total: u64, message: String) -> BoxFuture<'_, ()> {
        self.show(Some(phase), done, total, &message);
        ready(()).boxed()
    }
    fn pace(&self, done: u64, total: u64, message: String) {
        self.show(None, done, total, &message);
    }
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
