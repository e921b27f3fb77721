//! Maintenance of the stored samples: loading jobs once, deleting aged samples, the last flush.

use super::{
    Sampling,
    job::Job,
    store::{self, BlockTotals, PruneLimits},
};
use base::error::ToolError;
use std::time::Duration;
use tokio::time::Instant;

/// How often aged samples are deleted; queries hide them until then.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);

impl Sampling {
    /// Loads the jobs if they are not loaded, and deletes aged samples at most once an hour.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn tidy(&self) -> Result<(), ToolError> {
        let _turn = self.0.turn.lock().await;
        if !self.state().loaded {
            let jobs = self.0.store.run(store::load).await?;
            let mut state = self.state();
            state.jobs = jobs.into_iter().map(|(kept, tally)| Job::new(kept, tally)).collect();
            state.loaded = true;
        }
        self.prune_locked().await;
        Ok(())
    }

    /// Deletes aged samples, and ended jobs without samples. After a failure the next attempt is an hour later.
    pub(super) async fn prune_locked(&self) {
        let limits = self.limits();
        if limits.is_empty() {
            return;
        }
        let pruned = self.0.store.run(move |connection| {
            let prune =
                |(limits, has): (PruneLimits, BlockTotals)| Ok((limits.job, store::prune(connection, limits, has)?));
            limits.into_iter().map(prune).collect::<rusqlite::Result<Vec<_>>>()
        });
        let pruned = match pruned.await {
            Ok(pruned) => pruned,
            Err(error) => return tracing::warn!(%error, "aged samples could not be deleted"),
        };
        let mut empty = Vec::new();
        for (number, tally) in pruned {
            let mut state = self.state();
            if let Some(job) = state.numbered(number) {
                job.tally = tally;
                if !job.is_running() && tally.samples == 0 && job.waiting.is_empty() {
                    empty.push(number);
                }
            }
        }
        for number in empty {
            match self.0.store.run(move |connection| store::forget(connection, number)).await {
                Ok(()) => self.state().jobs.retain(|job| job.kept.number != number),
                Err(error) => tracing::warn!(%error, "an ended sampling job could not be forgotten"),
            }
        }
    }

    /// What each job may keep now; empty if no deletion is due.
    fn limits(&self) -> Vec<(PruneLimits, BlockTotals)> {
        let now_ms = self.now_ms();
        let mut state = self.state();
        let total: u64 = state.jobs.iter().map(|job| job.tally.bytes).sum();
        let excess = total.saturating_sub(self.0.max_bytes);
        let rested = state.pruned.is_some_and(|last| last.elapsed() < PRUNE_EVERY);
        if state.jobs.is_empty() || (rested && excess == 0) {
            return Vec::new();
        }
        state.pruned = Some(Instant::now());
        let largest = state.jobs.iter().max_by_key(|job| job.tally.bytes).map(|job| job.kept.number);
        let limits = |job: &Job| PruneLimits {
            job: job.kept.number,
            before_ms: job.cutoff(now_ms),
            samples: job.most_samples(),
            // A tenth more than necessary, so that this is not repeated at every flush.
            bytes: match excess {
                1.. if Some(job.kept.number) == largest => {
                    job.tally.bytes.saturating_sub(excess + self.0.max_bytes / 10)
                }
                _ => u64::MAX,
            },
        };
        state.jobs.iter().map(|job| (limits(job), job.tally)).collect()
    }

    /// Stops sampling and flushes; jobs continue at the next start.
    ///
    /// # Errors
    /// Why the newest samples were not stored.
    pub async fn close(&self) -> Result<(), String> {
        self.0.stop.cancel();
        let _turn = self.0.turn.lock().await;
        self.flush_locked().await;
        self.0.power.save().await;
        let state = self.state();
        match &state.fault {
            Some(fault) if state.jobs.iter().any(|job| !job.waiting.is_empty()) => Err(fault.clone()),
            _ => Ok(()),
        }
    }
}
