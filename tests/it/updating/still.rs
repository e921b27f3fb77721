//! Paused time that does not go on by itself.

use std::sync::mpsc;

/// As long as this lives, paused time goes on only when a test says so ([`tokio::time::advance`]): tokio lets it run to the next timer
/// when nothing is left to do, and a thread of its own that waits is something to do.
pub struct Standstill {
    _ends: mpsc::Sender<()>,
}

impl Standstill {
    pub fn begin() -> Self {
        let (ends, waits) = mpsc::channel();
        #[expect(clippy::disallowed_methods)]
        drop(tokio::task::spawn_blocking(move || {
            // Until the other end is dropped.
            let _: Result<(), _> = waits.recv();
        }));
        Self { _ends: ends }
    }
}
