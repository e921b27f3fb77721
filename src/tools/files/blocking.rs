//! Work on the disk, off the one thread that serves everybody: it ends soon after nobody waits for it any more.

use crate::error::ToolError;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Says that nobody waits any more.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// To be asked between two steps.
    ///
    /// # Errors
    /// `cancelled`, once nobody waits.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.0.load(Ordering::Relaxed) { Err(ToolError::cancelled("files")) } else { Ok(()) }
    }
}

/// Tells the work when the call is dropped.
struct Waits(Stop);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` where it may block.
///
/// # Errors
/// Those of `work`.
pub async fn run<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Stop::default();
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
