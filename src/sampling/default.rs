//! The default job: on a real board the service samples without being asked, so that "since when" and "what changed since
//! yesterday" have an answer.
//!
//! It belongs to the configuration (`metrics.default_job`): callers cannot end it, and it takes none of their places.

use super::{
    Sampling,
    job::Job,
    metric::Set,
    store::{self, Kept, Tally},
};
use base::error::{ErrorCode, ToolError};
use tokio::time::Instant;

/// Its number in the store, by which it is known again after a restart. Jobs of callers begin at 1.
pub const NUMBER: u32 = 0;
/// Its name, unless a caller has given that name to a job of their own.
const ID: &str = "default";
/// One wake-up a minute: 21 voluntary context switches in 305 seconds, a flush included.
const INTERVAL_SECONDS: u32 = 60;
/// Today and yesterday, whole.
const RETENTION_HOURS: u32 = 48;

/// What becomes of the default job when a server starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultJob {
    /// The service on a real board.
    Run,
    /// The configuration switches it off: one that ran is ended, its samples age out.
    End,
    /// stdio, or a simulated board: as it was.
    Leave,
}

impl Sampling {
    /// Brings the default job to what `wanted` says. Idempotent.
    ///
    /// # Errors
    /// The store's.
    pub async fn settle_default(&self, wanted: DefaultJob) -> Result<(), ToolError> {
        self.tidy().await?;
        let _turn = self.0.turn.lock().await;
        match wanted {
            DefaultJob::Run => self.run_default().await,
            DefaultJob::End => self.end_default().await,
            DefaultJob::Leave => Ok(()),
        }
    }

    async fn run_default(&self) -> Result<(), ToolError> {
        let now_ms = self.now_ms();
        let (wanted, is_new) = {
            let mut state = self.state();
            let free = |id: &String| !state.jobs.iter().any(|job| job.kept.id == *id);
            let more = (2..).map(|n| format!("{ID}-{n}"));
            let id = std::iter::once(ID.to_owned()).chain(more).find(free).unwrap_or_default();
            let known = state.numbered(NUMBER).map(|job| job.kept.clone());
            let wanted = Kept {
                number: NUMBER,
                id: known.as_ref().map_or(id, |known| known.id.clone()),
                interval_seconds: INTERVAL_SECONDS,
                retention_hours: RETENTION_HOURS,
                metrics: Set::ALL,
                created_ms: known.as_ref().map_or(now_ms, |known| known.created_ms),
                stopped_ms: None,
            };
            if known.as_ref() == Some(&wanted) {
                return Ok(());
            }
            (wanted, known.is_none())
        };
        let kept = wanted.clone();
        self.0.store.run(move |connection| store::begin(connection, &kept)).await?;
        let mut state = self.state();
        if is_new {
            // As it will be loaded: by number.
            state.jobs.insert(0, Job::new(wanted, Tally::default()));
        } else if let Some(job) = state.numbered(NUMBER) {
            (job.kept, job.next) = (wanted, Instant::now());
        }
        Ok(())
    }

    async fn end_default(&self) -> Result<(), ToolError> {
        let now_ms = self.now_ms();
        if !self.state().numbered(NUMBER).is_some_and(|job| job.is_running()) {
            return Ok(());
        }
        self.0.store.run(move |connection| store::end(connection, NUMBER, now_ms)).await?;
        if let Some(job) = self.state().numbered(NUMBER) {
            job.kept.stopped_ms = Some(now_ms);
        }
        Ok(())
    }
}

/// What a caller hears who would end it.
pub fn not_yours(id: &str) -> ToolError {
    ToolError::new(ErrorCode::FailedPrecondition, format!("sampling job '{id}' runs by the configuration, not for a caller"))
        .with("parameter", "job_id")
        .hint("to end it, set default_job = false under [metrics] in /etc/raspi-mcp and restart the server; it takes no other job's place")
}
