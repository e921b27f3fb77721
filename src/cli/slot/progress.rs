//! Progress of an installation: a bar on a terminal, otherwise one line for each phase.

use crate::cli::{bar::Bar, say::errln};
use futures::future::{BoxFuture, FutureExt, ready};
use std::sync::{Mutex, PoisonError};
use update::{
    job::{FoundRelease, phase_word},
    status::Phase,
};
use update_client::upload::ProgressSink;

#[derive(Default)]
pub struct InstallProgress {
    bar: Bar,
    phase: Mutex<Option<Phase>>,
}

impl InstallProgress {
    fn word(&self) -> &'static str {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).map_or("", phase_word)
    }
}

impl ProgressSink for InstallProgress {
    fn release(&self, _: FoundRelease) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
    fn step(&self, phase: Phase, done: u64, total: u64, message: String) -> BoxFuture<'_, ()> {
        let before = self.phase.lock().unwrap_or_else(PoisonError::into_inner).replace(phase);
        if before != Some(phase) {
            // The first of a phase is shown whenever it comes.
            self.bar.clear();
            if !self.bar.is_shown() {
                errln!("{}: {message}", phase_word(phase));
            }
        }
        self.bar.show(phase_word(phase), done, total, &message);
        ready(()).boxed()
    }
    fn pace(&self, done: u64, total: u64, message: String) {
        self.bar.show(self.word(), done, total, &message);
    }
}
