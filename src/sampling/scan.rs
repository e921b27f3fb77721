//! Going through samples: the store's blocks of some jobs, then what of theirs still waits for the card.

use super::{Sampling, metric::Sample, store};
use base::error::ToolError;
use std::{ops::Range, sync::Arc};

/// Blocks that are read at once: a fraction of a millisecond on a card, so that the audit need not wait for a long query.
const AT_ONCE: u32 = 256;

/// One job as it was when the question came.
#[derive(Debug)]
pub(super) struct Source {
    pub id: String,
    job: u32,
    /// Milliseconds since 1970 UTC: those that were asked for and have not aged out.
    pub times: Range<i64>,
    /// Blocks from this key on are in `waiting`, or came later.
    before: i64,
    waiting: Vec<Sample>,
}

/// Who is shown samples, on the store's thread: what it does should be short.
pub(super) trait ScanVisitor: Send + 'static {
    fn block(&mut self, source: &Source, block: &[u8]);
    fn waiting(&mut self, source: &Source, samples: &[Sample]);
}

impl Sampling {
    /// The jobs that a question is about, all or one, as they are now.
    ///
    /// # Errors
    /// `not_found`, and the store's.
    pub(super) async fn sources(&self, job: Option<&str>, times: &Range<i64>) -> Result<Vec<Source>, ToolError> {
        self.tidy().await?;
        let now_ms = self.now_ms();
        let mut state = self.state();
        if let Some(id) = job {
            state.find(id)?;
        }
        let jobs = state.jobs.iter().filter(|known| job.is_none_or(|id| known.kept.id == id));
        Ok(jobs
            .map(|job| Source {
                id: job.kept.id.clone(),
                job: job.kept.number,
                times: times.start.max(job.cutoff(now_ms))..times.end,
                before: store::key(job.kept.number, job.tally.next),
                waiting: job.waiting.clone(),
            })
            .collect())
    }

    /// Shows `visitor` every block and waiting sample of the sources, in the order they were taken, and returns it.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn scan<V: ScanVisitor>(&self, sources: Vec<Source>, mut visitor: V) -> Result<V, ToolError> {
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
