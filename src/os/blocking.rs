//! Work that may sleep (disks, buses, cameras), off the one thread that serves everybody: it ends soon after nobody waits for
//! it any more.

use crate::error::ToolError;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Says that nobody waits any more.
#[derive(Clone)]
pub struct Stop {
    gone: Arc<AtomicBool>,
    what: &'static str,
}

impl Stop {
    /// For work that `what` waits for: the name of a tool or of its namespace. It says so when it is told to end.
    pub fn of(what: &'static str) -> Self {
        Self { gone: Arc::default(), what }
    }

    /// To be asked between two steps.
    ///
    /// # Errors
    /// `cancelled`, once nobody waits.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.gone.load(Ordering::Relaxed) { Err(ToolError::cancelled(self.what)) } else { Ok(()) }
    }
}

/// Tells the work when the call is dropped.
struct Waits(Stop);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` of `what` where it may block. What cannot be interrupted (an ioctl) goes on when the caller has gone: whoever
/// starts such work bounds how much of it there is.
///
/// # Errors
/// Those of `work`.
pub async fn run<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Stop::of(what);
    let waits = Waits(stop.clone());
    // The store's thread has the audit to keep; a file that is synced to a card takes a second at times. These threads end
    // ten seconds after their last use.
    #[expect(clippy::disallowed_methods)]
    let ended = tokio::task::spawn_blocking(move || work(&stop)).await;
    drop(waits);
    match ended {
        Ok(result) => result,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::unavailable("the server is stopping")),
        },
    }
}
