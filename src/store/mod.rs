//! The SQLite store: one connection on one thread, which runs closures.
//!
//! The thread blocks on a channel until there is work, so an idle store causes no wakeups. The thread opens and checks
//! the file itself: a large file on a slow card delays the first query, but not the start of the server.

mod connection;
mod open;

pub use connection::{Durability, give_back};
pub use open::{OpenOutcome, OpenReport, settle};

use base::error::{ErrorCode, ToolError};
use connection::StoreConnection;
use rusqlite::Connection;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};
use tokio::sync::oneshot;

/// Most queued jobs: enough for a burst of ten concurrent calls, few enough to detect a card that hangs.
const QUEUE: usize = 64;
/// Stack size in bytes. SQLite's documentation requires at most 64 KiB; queries here are shallow.
const STACK: usize = 512 * 1024;

type Job = Box<dyn FnOnce(Result<&mut StoreConnection, &OpenReport>) + Send>;

/// A handle to the store. Cheap to clone; dropping the last one closes the file.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    report: Arc<OnceLock<OpenReport>>,
}

impl Store {
    /// Opens the store at `path` and creates its folder if needed. [`Store::report`] tells whether the file was usable;
    /// if nothing could be opened, every query fails with the reason.
    ///
    /// # Errors
    /// `internal` if no thread can be started.
    pub fn open(path: &Path) -> Result<Self, ToolError> {
        Self::synced_by(path, File::sync_data)
    }

    /// As [`Store::open`], with another function that syncs the WAL in [`Store::sync`]; injectable for counting or
    /// failing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn synced_by(path: &Path, sync: impl Fn(&File) -> io::Result<()> + Send + 'static) -> Result<Self, ToolError> {
        let path = path.to_owned();
        let (queue, jobs) = sync_channel::<Job>(QUEUE);
        let report = Arc::new(OnceLock::new());
        let (file, seen) = (path.clone(), Arc::clone(&report));
        let thread = std::thread::Builder::new()
            .name("store".into())
            .stack_size(STACK)
            .spawn(move || {
                let (connection, opened) = open::open(&file);
                let mut held = connection.map(|connection| StoreConnection::new(connection, &file, Box::new(sync)));
                opened.log(&file);
                let opened = seen.get_or_init(|| opened);
                for job in jobs {
                    job(held.as_mut().ok_or(opened));
                }
                if let Some(held) = held {
                    open::close(held.connection);
                }
            })
            .map_err(|error| ToolError::internal(format!("cannot start the store's thread: {error}")))?;
        Ok(Self(Arc::new(Inner { path, queue: Some(queue), thread: Some(thread), report })))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The result of opening; waits until it is known.
    ///
    /// # Errors
    /// `resource_exhausted` if the queue is full.
    pub async fn report(&self) -> Result<OpenReport, ToolError> {
        if let Some(report) = self.0.report.get() {
            return Ok(report.clone());
        }
        let (answer, answered) = oneshot::channel();
        self.submit(Box::new(move |_| {
            // The caller may be gone.
            let _ = answer.send(());
        }))?;
        // The thread fills the report before it takes its first job.
        let _ = answered.await;
        self.0.report.get().cloned().ok_or_else(|| self.gone())
    }

    /// Whether queries can succeed, as far as is known; a store that is still opening counts as usable.
    ///
    /// # Errors
    /// `unavailable` if no file could be opened.
    pub fn usable(&self) -> Result<(), ToolError> {
        match self.0.report.get() {
            Some(report) if matches!(report.state, OpenOutcome::Failed { .. }) => Err(report.unavailable(&self.0.path)),
            _ => Ok(()),
        }
    }

    /// Runs `work` on the store's thread and waits for its result. Work that has begun is finished even if the caller
    /// is cancelled. Its commits are on the card when this returns.
    ///
    /// # Errors
    /// `unavailable` if the file could not be opened or the query failed (for example on a full card),
    /// `resource_exhausted` if 64 queries already wait.
    pub async fn run<R, F>(&self, work: F) -> Result<R, ToolError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Connection) -> rusqlite::Result<R> + Send + 'static,
    {
        self.run_as(Durability::Synced, work).await
    }

    /// As [`Store::run`], with commits of this durability.
    ///
    /// # Errors
    /// As [`Store::run`].
    pub async fn run_as<R, F>(&self, durability: Durability, work: F) -> Result<R, ToolError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Connection) -> rusqlite::Result<R> + Send + 'static,
    {
        let path = self.0.path.clone();
        self.on_thread(move |held| {
            held.promise(durability)?;
            work(&mut held.connection).map_err(|error| failed(&path, &error))
        })
        .await
    }

    /// Runs read-only `work` without changing the durability setting.
    ///
    /// # Errors
    /// As [`Store::run`].
    pub async fn look<R, F>(&self, work: F) -> Result<R, ToolError>
    where
        R: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<R> + Send + 'static,
    {
        let path = self.0.path.clone();
        self.on_thread(move |held| work(&held.connection).map_err(|error| failed(&path, &error))).await
    }

    /// Syncs everything that was committed.
    ///
    /// # Errors
    /// `unavailable` if that failed. Every later call first tries to repair the failure, and does nothing else until
    /// that succeeds.
    pub async fn sync(&self) -> Result<(), ToolError> {
        self.on_thread(StoreConnection::sync).await
    }

    async fn on_thread<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut StoreConnection) -> Result<R, ToolError> + Send + 'static,
    ) -> Result<R, ToolError> {
        let (answer, answered) = oneshot::channel();
        let path = self.0.path.clone();
        self.submit(Box::new(move |held| {
            let result = held.map_err(|report| report.unavailable(&path)).and_then(work);
            // The caller may be gone; the work is done anyway.
            let _ = answer.send(result);
        }))?;
        answered.await.map_err(|_| self.gone())?
    }

    fn submit(&self, job: Job) -> Result<(), ToolError> {
        let Some(queue) = &self.0.queue else { return Err(self.gone()) };
        queue.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => ToolError::exhausted(format!("{QUEUE} queries already wait for the store"))
                .with("path", self.0.path.display().to_string())
                .hint("the storage is slow or stuck; try again later and look at the kernel's log"),
            TrySendError::Disconnected(_) => self.gone(),
        })
    }

    fn gone(&self) -> ToolError {
        ToolError::internal(format!("the store's thread for {} has ended", self.0.path.display()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue = None;
        // Closing checkpoints the WAL. If a job holds the last handle, this is the store's thread itself.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// Converts a failed query into an error of the call.
fn failed(path: &Path, error: &rusqlite::Error) -> ToolError {
    let full = matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull));
    ToolError::new(ErrorCode::Unavailable, format!("the store failed: {error}"))
        .with("path", path.display().to_string())
        .hint(if full {
            "the file system is full; free some space"
        } else {
            "check the file system of the state directory; the store is checked and, if need be, replaced at the next start"
        })
}
