//! The SQLite store: one connection on one thread, asked by closures.
//!
//! The thread sleeps in a channel until there is work, so an idle store wakes nobody. It opens and checks the file
//! itself: a large file on a slow card delays the first query, never the start of the server.

mod connection;
mod open;

pub use connection::Durability;
pub use open::{OpenReport, Opened, settle};

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

/// Jobs that may wait: enough for a burst of ten concurrent calls, small enough to notice a card that hangs.
const QUEUE: usize = 64;
/// SQLite's documentation asks for no more than 64 KiB; queries here are shallow.
const STACK: usize = 512 * 1024;

type Job = Box<dyn FnOnce(Result<&mut StoreConnection, &OpenReport>) + Send>;

/// A handle to the store. Cheap to clone; the last one closes the file.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    report: Arc<OnceLock<OpenReport>>,
}

impl Store {
    /// Starts the store on `path` with its folder made if need be. Whether the file was good is [`Store::report`]'s
    /// answer; when nothing could be opened, every query says so.
    ///
    /// # Errors
    /// `internal` when no thread can be started.
    pub fn open(path: &Path) -> Result<Self, ToolError> {
        Self::synced_by(path, File::sync_data)
    }

    /// The same with another way to sync the WAL in [`Store::sync`]: a test counts, or has no luck.
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

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// How opening went; waits until it is known.
    ///
    /// # Errors
    /// `resource_exhausted` when the queue is full.
    pub async fn report(&self) -> Result<OpenReport, ToolError> {
        if let Some(report) = self.0.report.get() {
            return Ok(report.clone());
        }
        let (answer, answered) = oneshot::channel();
        self.submit(Box::new(move |_| {
            // Who asked may have left.
            let _ = answer.send(());
        }))?;
        // The thread fills the report before it takes its first job.
        let _ = answered.await;
        self.0.report.get().cloned().ok_or_else(|| self.gone())
    }

    /// Whether queries can succeed, as far as is known; a store that is still opening counts as usable.
    ///
    /// # Errors
    /// `unavailable` when no file could be opened.
    pub fn usable(&self) -> Result<(), ToolError> {
        match self.0.report.get() {
            Some(report) if matches!(report.state, Opened::Failed { .. }) => Err(report.unavailable(&self.0.path)),
            _ => Ok(()),
        }
    }

    /// Runs `work` on the store's thread and waits for its result. Work begun is finished even when the caller leaves.
    /// What it commits is on the card when it returns.
    ///
    /// # Errors
    /// `unavailable` when the file could not be opened or the query failed (a full card, say),
    /// `resource_exhausted` when 64 queries already wait.
    pub async fn run<R, F>(&self, work: F) -> Result<R, ToolError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Connection) -> rusqlite::Result<R> + Send + 'static,
    {
        self.run_as(Durability::Synced, work).await
    }

    /// The same with commits of this durability.
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

    /// Runs `work`, which only reads: whatever commits promise stays as it is set.
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

    /// Brings everything that was committed to the card.
    ///
    /// # Errors
    /// `unavailable` when that failed. Until it has been made good, which everything that comes after tries first, nothing
    /// is done any more.
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
            // The caller may have left; the work is done all the same.
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
        // Closing writes the WAL back. A job may hold the last handle: then this is the thread itself.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// A failed query as an error of the call that needed it.
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
