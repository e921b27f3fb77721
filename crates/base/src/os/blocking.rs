//! Blocking work (disks, buses, cameras) off the runtime's thread. It ends soon after its caller is gone.

use crate::error::ToolError;
use futures::future::BoxFuture;
use std::{
    any::Any,
    marker::PhantomData,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// Cancels the call of this task, where the call is not dropped instead.
    static TOLD: CancellationToken;
}

/// Runs `work` so that `told` can cancel everything below it: blocking work, waiting for a turn, and requests about to
/// be sent to the agent.
pub async fn told_by<T>(told: CancellationToken, work: impl Future<Output = T>) -> T {
    TOLD.scope(told, work).await
}

/// Checks for cancellation. Call it before anything that cannot be stopped.
///
/// # Errors
/// `cancelled`, once the call is cancelled.
pub fn go_on(what: &str) -> Result<(), ToolError> {
    match TOLD.try_with(CancellationToken::is_cancelled) {
        Ok(true) => Err(ToolError::cancelled(what)),
        Ok(false) | Err(_) => Ok(()),
    }
}

/// Waits for a turn, or anything else that changes nothing.
///
/// # Errors
/// `cancelled`, when the call is cancelled first.
pub async fn unless_told<T>(what: &str, wait: impl Future<Output = T>) -> Result<T, ToolError> {
    let Ok(told) = TOLD.try_with(Clone::clone) else { return Ok(wait.await) };
    tokio::select! {
        biased;
        done = wait => Ok(done),
        () = told.cancelled() => Err(ToolError::cancelled(what)),
    }
}

/// How many calls may do one kind of work at once. The others wait, first come first served. For work that takes much memory:
/// tokio starts up to 512 threads for blocking work.
pub struct Turns(Semaphore);

impl Turns {
    /// `most`: calls at once.
    pub const fn new(most: usize) -> Self {
        Self(Semaphore::const_new(most))
    }

    /// Waits for a turn of `what`, the name of a tool; it ends when it is dropped.
    ///
    /// # Errors
    /// `cancelled`, when the call is cancelled first.
    pub async fn take(&self, what: &str) -> Result<SemaphorePermit<'_>, ToolError> {
        Ok(unless_told(what, self.0.acquire()).await?.expect("it is never closed"))
    }
}

/// Says whether the caller is gone.
#[derive(Clone)]
pub struct StopSignal {
    gone: Arc<AtomicBool>,
    told: Option<CancellationToken>,
    what: &'static str,
}

impl StopSignal {
    /// For work of `what`: the name of a tool or of its namespace, which the error contains.
    pub fn of(what: &'static str) -> Self {
        Self { gone: Arc::default(), told: TOLD.try_with(Clone::clone).ok(), what }
    }

    /// Checks for cancellation. Call it between two steps.
    ///
    /// # Errors
    /// `cancelled`, once the caller is gone.
    pub fn check(&self) -> Result<(), ToolError> {
        let told = self.told.as_ref().is_some_and(CancellationToken::is_cancelled);
        if told || self.gone.load(Ordering::Relaxed) { Err(ToolError::cancelled(self.what)) } else { Ok(()) }
    }
}

/// Cancels the work when the call is dropped.
struct Waits(StopSignal);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}

/// The result of work on a blocking thread. Dropping it cancels the work ([`StopSignal::check`]).
///
/// All work has one type internally, because tokio compiles a task for every type of work: 2 kB of code each.
#[must_use = "the work begins when it is awaited"]
pub struct Blocking<T> {
    erased: BoxFuture<'static, Result<Done, ToolError>>,
    result: PhantomData<fn() -> T>,
}

/// A result of a type that [`Blocking`] knows.
type Done = Box<dyn Any + Send>;
/// Work whose result is boxed.
type Work = Box<dyn FnOnce(&StopSignal) -> Result<Done, ToolError> + Send>;

impl<T: 'static> Future for Blocking<T> {
    type Output = Result<T, ToolError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.erased.as_mut().poll(cx).map_ok(|done| *done.downcast().expect("run() boxed a T"))
    }
}

/// Runs `work` of `what` on a thread that may block. A system call that cannot be interrupted (an ioctl) continues
/// after the caller is gone, so callers limit the amount of such work.
///
/// # Errors
/// Those of `work`; `unavailable` while the runtime is shutting down.
pub fn run<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce(&StopSignal) -> Result<T, ToolError> + Send + 'static,
) -> Blocking<T> {
    let work = Box::new(move |stop: &StopSignal| Ok(Box::new(work(stop)?) as Done));
    Blocking { erased: Box::pin(run_erased(what, work)), result: PhantomData }
}

async fn run_erased(what: &'static str, work: Work) -> Result<Done, ToolError> {
    let stop = StopSignal::of(what);
    let waits = Waits(stop.clone());
    // Not on the store's thread: the audit waits for that one, and syncing a file to a card can take a second. These
    // threads end ten seconds after their last use.
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn who_has_no_turn_waits_until_one_ends_or_the_call_is_cancelled() {
        let turns = Turns::new(2);
        let (first, _second) = (turns.take("tools.search").await.unwrap(), turns.take("tools.search").await.unwrap());
        let told = CancellationToken::new();
        let mut cancelled = Box::pin(told_by(told.clone(), turns.take("tools.search")));
        let mut third = Box::pin(turns.take("tools.search"));
        assert!(cancelled.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        told.cancel();
        let error = cancelled.now_or_never().expect("it is told").map(drop).unwrap_err();
        assert_eq!(error.code, crate::error::ErrorCode::Cancelled);
        drop(first);
        assert!(third.now_or_never().expect("a turn has ended").is_ok());
    }
}
