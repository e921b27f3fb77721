//! The server's half of an update: one job at a time, stored in a file, resumed after a restart of the server.
//!
//! A job belongs to the machine and not to the call that began it: it survives the caller, a lost connection and a
//! restart of the server. An [`UpdateEngine`] does the work; this module keeps the single job, its progress and its result.

mod kept;
mod order;
pub mod plan;
mod tell;

pub use kept::{JobRecord, JobState};
pub use order::{AUTOMATIC, FoundRelease, UpdateOrder, WantedRelease};
pub use tell::Tell;

use super::status::Phase;
use base::{
    clock::{Stamp, Wall},
    error::{ErrorCode, ToolError},
    os::blocking,
};
use futures::future::BoxFuture;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Limit of resumptions after the server ended by itself during a job: an update that crashes its server must not do so for ever.
pub const MOST_RESUMES: u32 = 5;
/// Limit of resumptions in all. A device that is switched off each night needs many for a large download over a slow line; an update that
/// crashes its machine must not do so for ever.
pub const MOST_RESUMES_IN_ALL: u32 = 60;

/// Brings a release to the point where only a restart is missing.
pub trait UpdateEngine: Send + Sync {
    /// Does all of it: finds, fetches, has it written and armed, and requests the restart. Reports progress through
    /// `tell`. Dropping the future stops the work; what is written and fetched by then is kept. Returns the next step,
    /// as a sentence.
    ///
    /// # Errors
    /// Why there is no update; nothing was tried.
    fn run<'a>(&'a self, order: &'a UpdateOrder, tell: &'a Tell) -> BoxFuture<'a, Result<String, ToolError>>;
}

/// The jobs of one server. Cheap to clone.
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    file: PathBuf,
    wall: Wall,
    /// The kernel's id of this boot, if it is known.
    boot: Option<String>,
    now: Mutex<Now>,
    /// Counts reported changes; see [`Jobs::changes`].
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Now {
    kept: Option<JobRecord>,
    /// Cancels the running job.
    cancel: Option<CancellationToken>,
    /// Why the newest state could not be stored.
    fault: Option<String>,
}

impl Now {
    /// The job that is running, or that the previous server left and nobody has resumed yet.
    fn unfinished(&self) -> Option<&JobRecord> {
        self.kept.as_ref().filter(|kept| self.cancel.is_some() || kept.state == JobState::Running)
    }
}

impl Jobs {
    /// Loads the job of the previous server from `folder`, which need not exist yet. `boot`: the kernel's id of this boot, by which the end
    /// of a server is told from the machine's.
    pub fn open(folder: &Path, wall: Wall, boot: Option<String>) -> Self {
        let file = folder.join("job.json");
        let (kept, fault) = kept::load(&file);
        let (changed, _) = watch::channel(0);
        Self(Arc::new(Inner { file, wall, boot, now: Mutex::new(Now { kept, cancel: None, fault }), changed }))
    }

    /// The newest job, running or ended.
    pub fn newest(&self) -> Option<JobRecord> {
        self.lock().kept.clone()
    }

    /// Why the newest state could not be stored or read, and what to do.
    pub fn fault(&self) -> Option<String> {
        self.lock().fault.clone()
    }

    /// Receives every later change of the newest job.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Whether a job is running.
    pub fn runs(&self) -> bool {
        self.lock().cancel.is_some()
    }

    /// Whether [`Jobs::cancel`] would end one.
    pub fn can_cancel(&self) -> bool {
        self.lock().unfinished().is_some_and(|kept| kept.phase < Phase::Armed)
    }

    /// Checks that no job is running, and that none of the previous server waits to be resumed.
    ///
    /// # Errors
    /// `conflict`, with whose job it is and since when.
    pub fn free(&self) -> Result<(), ToolError> {
        let now = self.lock();
        let Some(kept) = now.unfinished() else { return Ok(()) };
        let since = Stamp(kept.started_ms);
        let whose = &kept.order.principal;
        Err(ToolError::new(
            ErrorCode::Conflict,
            format!("an update is under way already: {} of {whose}, since {since}, {}", kept.order.tool, kept.message),
        )
        .with("job_id", kept.order.id.clone())
        .with("principal", whose.clone())
        .with("started_at", since.to_string())
        .with("phase", phase_word(kept.phase))
        .hint("manage.get_update_status says how far it is; manage.rollback ends it"))
    }

    /// Starts a job. Must be called inside the runtime.
    ///
    /// # Errors
    /// Those of [`Jobs::free`].
    pub fn start(&self, order: UpdateOrder, engine: Arc<dyn UpdateEngine>) -> Result<(), ToolError> {
        self.free()?;
        self.begin(JobRecord::new(order, self.0.wall.now_ms()), engine);
        Ok(())
    }

    /// Resumes the previous server's unfinished job, if there is one. Returns whether it does.
    pub fn resume(&self, engine: Arc<dyn UpdateEngine>) -> bool {
        let now = self.lock();
        let Some(mut kept) = now.kept.clone().filter(|kept| kept.state == JobState::Running && now.cancel.is_none())
        else {
            return false;
        };
        drop(now);
        let same_boot = kept.boot.is_none() || kept.boot == self.0.boot;
        let too_often = match (kept.server_ends >= MOST_RESUMES && same_boot, kept.resumed >= MOST_RESUMES_IN_ALL) {
            (true, _) => Some(format!("the server ended {MOST_RESUMES} times while this update ran")),
            (_, true) => {
                Some(format!("the machine or its server ended {MOST_RESUMES_IN_ALL} times while this update ran"))
            }
            _ => None,
        };
        if let Some(why) = too_often {
            let error = ToolError::unavailable(why)
                .hint("look at the server's log: journalctl -u raspi-mcp; then begin it again");
            kept.end(Err(error), self.0.wall.now_ms());
            base::task::spawn(self.clone().put_down(kept));
            return false;
        }
        kept.resumed += 1;
        kept.server_ends = if same_boot { kept.server_ends + 1 } else { 0 };
        self.begin(kept, engine);
        true
    }

    /// Cancels the running job. Returns whether there was one. An armed slot is no longer a job: the agent takes it
    /// back.
    pub fn cancel(&self) -> bool {
        self.cancel_if(|_| true)
    }

    /// The same, if the running job has this id.
    pub fn cancel_of(&self, id: &str) -> bool {
        self.cancel_if(|kept| kept.order.id == id)
    }

    fn cancel_if(&self, is: impl FnOnce(&JobRecord) -> bool) -> bool {
        let mut now = self.lock();
        let Some(kept) = now.unfinished().filter(|kept| kept.phase < Phase::Armed && is(kept)) else { return false };
        match &now.cancel {
            Some(token) => token.cancel(),
            None => {
                let mut kept = kept.clone();
                kept.end(Err(cancelled(&kept.order.tool)), self.0.wall.now_ms());
                // It must not be resumed, whenever the file is written.
                now.kept = Some(kept.clone());
                drop(now);
                base::task::spawn(self.clone().put_down(kept));
            }
        }
        true
    }

    /// Waits until no job is running. Returns the newest.
    pub async fn settled(&self) -> Option<JobRecord> {
        let mut changes = self.changes();
        loop {
            if !self.runs() {
                return self.newest();
            }
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    fn begin(&self, mut kept: JobRecord, engine: Arc<dyn UpdateEngine>) {
        kept.boot.clone_from(&self.0.boot);
        let token = CancellationToken::new();
        let order = kept.order.clone();
        {
            let mut now = self.lock();
            now.kept = Some(kept.clone());
            now.cancel = Some(token.clone());
        }
        self.notify();
        let jobs = self.clone();
        base::task::spawn(async move {
            jobs.clone().put_down(kept).await;
            let tell = Tell::new(jobs.clone());
            let done = tokio::select! {
                biased;
                () = token.cancelled() => Err(cancelled(&order.tool)),
                done = engine.run(&order, &tell) => done,
            };
            jobs.end(done).await;
        });
    }

    async fn end(&self, done: Result<String, ToolError>) {
        let ended = self.lock().kept.clone().map(|mut kept| {
            kept.end(done, self.0.wall.now_ms());
            kept
        });
        if let Some(kept) = ended {
            self.clone().put_down(kept).await;
        }
        self.lock().cancel = None;
        self.notify();
    }

    /// Changes the job in memory. Returns it if it must be stored as well.
    fn alter(&self, change: impl FnOnce(&mut JobRecord) -> bool) -> Option<JobRecord> {
        let mut now = self.lock();
        let kept = now.kept.as_mut()?;
        let matters = change(kept);
        let kept = matters.then(|| kept.clone());
        drop(now);
        self.notify();
        kept
    }

    /// Stores `kept`, in memory and in the file. A failed write is reported but does not stop the job: after a restart
    /// the agent still knows its half.
    async fn put_down(self, kept: JobRecord) {
        self.lock().kept = Some(kept.clone());
        let file = self.0.file.clone();
        let saved = blocking::run("update", move |_| {
            kept::save(&file, &kept).map_err(|error| ToolError::unavailable(error.to_string()))
        });
        let fault =
            saved.await.err().map(|error| format!("{} cannot be written: {}", self.0.file.display(), error.message));
        if let Some(fault) = &fault {
            tracing::error!(target: "update", fault, "a restart of the server would lose this update from sight");
        }
        self.lock().fault = fault;
        self.notify();
    }

    fn notify(&self) {
        self.0.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its name in answers.
pub fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Checking => "checking",
        Phase::Comparing => "comparing",
        Phase::Fetching => "fetching",
        Phase::Writing => "writing",
        Phase::Verifying => "verifying",
        Phase::Armed => "armed",
        Phase::Trial => "trial",
        Phase::Committed => "committed",
        Phase::RolledBack => "rolled_back",
        Phase::Failed => "failed",
    }
}

/// The error of a job that was cancelled: by whoever started it, or by a call of manage.rollback.
fn cancelled(tool: &str) -> ToolError {
    ToolError::new(ErrorCode::Cancelled, format!("{tool} was cancelled, by its caller or by manage.rollback"))
}
