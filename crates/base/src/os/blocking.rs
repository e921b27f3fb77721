//! Work that may sleep (disks, buses, cameras), off the one thread that serves everybody: it ends soon after nobody waits for
//! it any more.

use crate::error::ToolError;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// What tells the call of this task to stop, where it is not dropped instead.
    static TOLD: CancellationToken;
}

/// Runs `work` so that everything below it can be told to stop by `told`: what blocks, what waits for a turn, and what is about to
/// be handed to the agent.
pub async fn told_by<T>(told: CancellationToken, work: impl Future<Output = T>) -> T {
    TOLD.scope(told, work).await
}

/// To be asked before something is begun that cannot be stopped.
///
/// # Errors
/// `cancelled`, once the call is told to stop.
pub fn go_on(what: &str) -> Result<(), ToolError> {
    match TOLD.try_with(CancellationToken::is_cancelled) {
        Ok(true) => Err(ToolError::cancelled(what)),
        Ok(false) | Err(_) => Ok(()),
    }
}

/// Waits for a turn, or whatever else changes nothing.
///
/// # Errors
/// `cancelled`, when the call is told to stop first.
pub async fn unless_told<T>(what: &str, wait: impl Future<Output = T>) -> Result<T, ToolError> {
    let Ok(told) = TOLD.try_with(Clone::clone) else { return Ok(wait.await) };
    tokio::select! {
        biased;
        done = wait => Ok(done),
        () = told.cancelled() => Err(ToolError::cancelled(what)),
    }
}

/// Says that nobody waits any more.
#[derive(Clone)]
pub struct Stop {
    gone: Arc<AtomicBool>,
    told: Option<CancellationToken>,
    what: &'static str,
}

impl Stop {
    /// For work that `what` waits for: the name of a tool or of its namespace. It says so when it is told to end.
    pub fn of(what: &'static str) -> Self {
        Self { gone: Arc::default(), told: TOLD.try_with(Clone::clone).ok(), what }
    }

    /// To be asked between two steps.
    ///
    /// # Errors
    /// `cancelled`, once nobody waits.
    pub fn check(&self) -> Result<(), ToolError> {
        let told = self.told.as_ref().is_some_and(CancellationToken::is_cancelled);
        if told || self.gone.load(Ordering::Relaxed) { Err(ToolError::cancelled(self.what)) } else { Ok(()) }
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
