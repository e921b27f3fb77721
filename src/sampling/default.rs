//! The default job: on a real board the service samples by itself, so that "since when" and "what changed since
//! yesterday" can be answered.
//!
//! It is part of the configuration (`metrics.default_job`): callers cannot end it, and it does not count towards their
//! limit.

use super::{
    Sampling,
    job::Job,
    metric::MetricSet,
    store::{self, BlockTotals, StoredJob},
};
use base::error::{ErrorCode, ToolError};
use std::sync::Arc;
use tokio::time::Instant;

/// Its number in the store, which identifies it after a restart. Jobs of callers begin at 1.
pub const NUMBER: u32 = 0;
/// Its name, unless a caller's job already has that name.
const ID: &str = "default";
/// One wakeup a minute. Measured: 21 voluntary context switches in 305 seconds, including a flush.
const INTERVAL_SECONDS: u32 = 60;
/// Two days: today and yesterday in full.
const RETENTION_HOURS: u32 = 48;

/// What to do with the default job when a server starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultJob {
    /// The service on a real board.
    Run,
    /// Disabled in the configuration: a running one is ended, and its samples age out.
    End,
    /// stdio or a simulated board: leave it unchanged.
    Leave,
}

impl Sampling {
    /// Starts or ends the default job according to `wanted`. Idempotent.
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
            let wanted = StoredJob {
                number: NUMBER,
                id: known.as_ref().map_or(id, |known| known.id.clone()),
                interval_seconds: INTERVAL_SECONDS,
                retention_hours: RETENTION_HOURS,
                metrics: MetricSet::ALL,
                sensors: Arc::default(),
                threshold: None,
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
            // In the order in which jobs are loaded: by number.
            state.jobs.insert(0, Job::new(wanted, BlockTotals::default()));
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

/// The error for a caller who tries to end it.
pub fn not_yours(id: &str) -> ToolError {
    ToolError::new(ErrorCode::FailedPrecondition, format!("sampling job '{id}' runs by the configuration, not for a caller"))
        .with("parameter", "job_id")
        .hint("to end it, set default_job = false under [metrics] in /etc/raspi-mcp and restart the server; it takes no other job's place")
}
