//! Work that is most often done at once: a read of what is in memory needs no task of its own.

use futures::FutureExt;
use tokio::task::{JoinError, JoinHandle};

/// Work that has been begun.
pub enum Begun<T> {
    Done(T),
    /// It waits for something and goes on by itself.
    Task(JoinHandle<T>),
}

/// Runs `work` as far as it goes without waiting; what is left goes on as a task, whatever becomes of the caller.
pub fn begin<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Begun<T> {
    let mut work = Box::pin(work);
    match work.as_mut().now_or_never() {
        Some(done) => Begun::Done(done),
        // The task polls again first thing, so that nothing is missed that this poll was to be woken by.
        None => Begun::Task(base::task::spawn(work)),
    }
}

impl<T> Begun<T> {
    /// What came of it.
    ///
    /// # Errors
    /// When the task panicked.
    pub async fn finish(self) -> Result<T, JoinError> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Task(task) => task.await,
        }
    }
}
