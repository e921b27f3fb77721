//! Reads samples in order: the stored blocks of some jobs, then their samples that are not stored yet.

use super::{Sampling, metric::Sample, store};
use base::error::ToolError;
use std::{ops::Range, sync::Arc};

/// Blocks read in one query: a fraction of a millisecond on a card, so that a long scan does not delay the audit.
const AT_ONCE: u32 = 256;

/// The state of one job when the query began.
#[derive(Debug)]
pub(super) struct JobSnapshot {
    pub id: String,
    /// In the order of their places.
    pub sensors: Arc<[String]>,
    job: u32,
    /// Milliseconds since 1970 UTC: the requested times that have not aged out.
    pub times: Range<i64>,
    /// Blocks from this key on are in `waiting` or are newer.
    before: i64,
    waiting: Vec<Sample>,
}

/// Receives samples, on the store's thread: its methods should be short.
pub(super) trait ScanVisitor: Send + 'static {
    fn block(&mut self, source: &JobSnapshot, block: &[u8]);
    fn waiting(&mut self, source: &JobSnapshot, samples: &[Sample]);
}

impl Sampling {
    /// The jobs that a query covers, all or one, in their current state.
    ///
    /// # Errors
    /// `not_found`, and the store's.
    pub(super) async fn sources(&self, job: Option<&str>, times: &Range<i64>) -> Result<Vec<JobSnapshot>, ToolError> {
        self.tidy().await?;
        let now_ms = self.now_ms();
        let mut state = self.state();
        if let Some(id) = job {
            state.find(id)?;
        }
        let jobs = state.jobs.iter().filter(|known| job.is_none_or(|id| known.kept.id == id));
        Ok(jobs
            .map(|job| JobSnapshot {
                id: job.kept.id.clone(),
                sensors: Arc::clone(&job.kept.sensors),
                job: job.kept.number,
                times: times.start.max(job.cutoff(now_ms))..times.end,
                before: store::key(job.kept.number, job.tally.next),
                waiting: job.waiting.clone(),
            })
            .collect())
    }

    /// Passes every block and waiting sample of the sources to `visitor`, in the order they were taken, and returns it.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn scan<V: ScanVisitor>(&self, sources: Vec<JobSnapshot>, mut visitor: V) -> Result<V, ToolError> {
        for source in sources {
            let source = Arc::new(source);
            let mut from = Some(store::first_key(source.job));
            while let Some(key) = from {
                let source = Arc::clone(&source);
                (visitor, from) = self
                    .0
                    .store
                    .run(move |connection| {
                        if !store::exists(connection)? {
                            return Ok((visitor, None));
                        }
                        let show = |block: &[u8]| visitor.block(&source, block);
                        let next = store::each(connection, key, source.before, &source.times, AT_ONCE, show)?;
                        Ok((visitor, next))
                    })
                    .await?;
            }
            visitor.waiting(&source, &source.waiting);
        }
        Ok(visitor)
    }
}
