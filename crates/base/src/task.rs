//! Starts tasks whose future is boxed.
//!
//! Tokio compiles a task for every type of spawned future: a dozen functions with their unwind tables, 2 kB each time.
//! Boxed futures with the same type of result share one copy, for one more allocation per task.

use futures::future::BoxFuture;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio_util::task::TaskTracker;

/// As [`tokio::spawn`].
///
/// # Panics
/// Outside a runtime.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    spawn_boxed(Box::pin(work))
}

/// As [`spawn`], for a future that is boxed already.
///
/// # Panics
/// Outside a runtime.
pub fn spawn_boxed<T: Send + 'static>(work: BoxFuture<'static, T>) -> JoinHandle<T> {
    tokio::spawn(work)
}

/// As [`TaskTracker::spawn`].
///
/// # Panics
/// Outside a runtime.
pub fn spawn_on<T: Send + 'static>(
    tracker: &TaskTracker,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    spawn_boxed(Box::pin(tracker.track_future(work)))
}

/// As [`JoinSet::spawn`].
///
/// # Panics
/// Outside a runtime.
pub fn spawn_in<T: Send + 'static>(
    set: &mut JoinSet<T>,
    work: impl Future<Output = T> + Send + 'static,
) -> AbortHandle {
    let boxed: BoxFuture<'static, T> = Box::pin(work);
    set.spawn(boxed)
}
