//! Runs work that usually completes at once, such as a read from memory, without a task of its own.

use futures::{FutureExt, future::BoxFuture};
use tokio::task::{JoinError, JoinHandle};

/// Work that has begun.
pub enum StartedWork<T> {
    Done(T),
    /// It waits for something and continues as a task.
    Task(JoinHandle<T>),
}

/// Polls `work` once; if it must wait, the rest runs as a task, which continues even if the caller is dropped.
pub fn begin<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> StartedWork<T> {
    let mut work: BoxFuture<'static, T> = Box::pin(work);
    match work.as_mut().now_or_never() {
        Some(done) => StartedWork::Done(done),
        // The task polls again first, so that no wakeup for this poll is lost.
        None => StartedWork::Task(base::task::spawn_boxed(work)),
    }
}

impl<T> StartedWork<T> {
    /// The result.
    ///
    /// # Errors
    /// If the task panicked.
    pub async fn finish(self) -> Result<T, JoinError> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Task(task) => task.await,
        }
    }
}
