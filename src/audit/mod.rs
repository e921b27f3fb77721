//! The audit: every call, in order, in a hash chain that reveals later changes.
//!
//! A write has two records: its intent, stored before it runs, and its outcome, stored before it is answered. Both are
//! on the card by then; without the first, the write does not run. The first refusal of a kind is on the card before it
//! is answered; repetitions within a minute are counted (`gather`). Successful reads wait up to a second and are
//! recorded together, since each commit costs an SD card an erase block. A power cut may lose that second of reads, and
//! of writes whose effect is lost with the power too (`Meta::volatile`), but no other write. Volatile writes are
//! committed before they are answered and synced within a second, together with any sync before that. No record is
//! longer than 8 KiB ([`contract::audit::limit`]), and no caller has more than its share of the store (`shares`). The
//! agent recomputes the chain and signs for what is trimmed (see [`agent::heads`] and `witness`), so that the server
//! cannot rewrite it undetected.

mod backlog;
mod batch;
mod chain;
mod gather;
mod halt;
mod keeping;
pub mod ledger;
mod query;
mod reads;
mod recording;
mod shares;
mod verify;
mod walk;
mod witness;

pub use backlog::Backlog;
pub use query::{AuditFilter, AuditPage, Unfinished, each_recent, recent_file, unfinished};
pub use verify::{AuditReport, Gap, missing, verify, verify_file};

use crate::store::{Durability, OpenOutcome, Store};
use agent::{AgentLink, operations::audit::ListHeads};
use base::error::ToolError;
use batch::Batch;
use contract::audit::{
    AuditHead,
    record::{PreparedRecord, now_ms},
};
use gather::{Gathered, RepeatCount};
use shares::Shares;
use std::{
    mem,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Longest time until a successful read is recorded, and until a volatile write's record is on the card.
const DELAY: Duration = Duration::from_secs(1);
/// How long a commit waits while another program has locked the file.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same after a failed commit, until one succeeds, because other queries wait for the store's thread meanwhile.
const IMPATIENCE: Duration = Duration::from_millis(100);
/// How long [`Audit::close`] waits for the agent.
const LAST_WORD: Duration = Duration::from_secs(5);
/// After a failed commit, no new attempt is made for this long.
const PAUSE: Duration = Duration::from_secs(1);

/// The server's audit. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Arc<Inner>);

struct Inner {
    store: Store,
    max_bytes: u64,
    /// The agent that keeps the heads.
    agent: Option<AgentLink>,
    waiting: Mutex<Waiting>,
    /// Notified after each attempt to make room in a full store.
    room: tokio::sync::Notify,
    /// Cancelled when the audit closes. Timers then end at once; what they wait for was recorded.
    closed: CancellationToken,
    /// Notified when the agent has been informed of everything.
    told: tokio::sync::Notify,
    /// Serializes commits. On a slow card records wait here, where their number is bounded, and not in the store's
    /// queue.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    reads: Batch,
    /// A task is scheduled to commit `reads` and to sync within [`DELAY`].
    timer: bool,
    /// Commits that are not synced yet: a power cut would lose them.
    unsynced: Option<Unsynced>,
    /// What the agent still has to be told, and its last answer.
    witness: witness::AuditWitness,
    /// Calls that are counted instead of recorded one by one.
    gathered: Gathered,
    shares: Shares,
    /// Records that could not be stored since the last success. The chain gets one record with their number.
    lost: Lost,
    /// Why the last commit failed, until one succeeds.
    broken: Option<ToolError>,
    /// Time of the last failure.
    failed: Option<Instant>,
}

/// Records that could not be stored.
#[derive(Default)]
struct Lost {
    count: u64,
    /// When the first of them occurred, milliseconds since 1970.
    since_ms: i64,
}

impl Lost {
    fn add(&mut self, count: u64) {
        if self.count == 0 {
            self.since_ms = now_ms();
        }
        self.count += count;
    }
}

/// What to commit besides the waiting reads.
#[derive(Default)]
struct Work {
    record: Option<PreparedRecord>,
    tallies: Vec<RepeatCount>,
}

struct Unsynced {
    /// The newest of them. The agent is informed only once it is on the card. Otherwise a power cut could lose the
    /// records but not their head, which would look like a truncated chain.
    head: AuditHead,
    /// Why the last sync failed, until one succeeds.
    failed: Option<ToolError>,
}

impl Audit {
    /// An audit in `store` of about `max_bytes`; the oldest records are trimmed behind a checkpoint record.
    pub fn new(store: Store, max_bytes: u64, agent: Option<AgentLink>) -> Self {
        Self(Arc::new(Inner {
            store,
            max_bytes,
            agent,
            waiting: Mutex::new(Waiting { shares: Shares::new(max_bytes), ..Waiting::default() }),
            room: tokio::sync::Notify::new(),
            closed: CancellationToken::new(),
            told: tokio::sync::Notify::new(),
            turn: tokio::sync::Mutex::default(),
        }))
    }

    /// Ensures that everything is on the card within a second. Reads and volatile writes share one timer, so that a
    /// read that was committed along with a volatile write waits no longer.
    fn arm(&self, waiting: &mut Waiting) {
        if !mem::replace(&mut waiting.timer, true) {
            let audit = self.clone();
            base::task::spawn(async move {
                audit.pause(DELAY).await;
                audit.waiting().timer = false;
                audit.flush_reads().await;
            });
        }
    }

    /// Waits for `time`, or until the audit is closed.
    async fn pause(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.0.closed.cancelled()).await;
    }

    async fn flush_reads(&self) {
        if let Err(error) = self.flush().await {
            tracing::error!(target: "audit", %error, "records of the last second could not be kept");
        }
    }

    /// Whether a record could be stored, as far as is known without trying.
    ///
    /// # Errors
    /// The error of the last commit or sync, or of opening the store.
    pub fn check(&self) -> Result<(), ToolError> {
        let waiting = self.waiting();
        let failed = waiting.unsynced.as_ref().and_then(|unsynced| unsynced.failed.as_ref());
        if let Some(error) = waiting.broken.as_ref().or(failed) {
            return Err(error.clone());
        }
        self.0.store.usable()
    }

    /// Whether to try to record something: like [`Audit::check`], but allows a new attempt some time after a failure.
    ///
    /// # Errors
    /// As [`Audit::check`].
    fn worth_trying(&self) -> Result<(), ToolError> {
        if self.waiting().failed.is_some_and(|at| at.elapsed() >= PAUSE) {
            return self.0.store.usable();
        }
        self.check()
    }

    /// Where the store's file was moved, if it was damaged when this server started and a new chain began.
    pub async fn set_aside(&self) -> Option<PathBuf> {
        match self.0.store.report().await.ok()?.state {
            OpenOutcome::Replaced { set_aside, .. } => Some(set_aside),
            _ => None,
        }
    }

    /// Commits the waiting reads and counts, and syncs. Called before the audit is read.
    ///
    /// # Errors
    /// As [`Audit::write`]; the reads are kept for the next attempt, up to the batch's limit.
    pub async fn flush(&self) -> Result<(), ToolError> {
        let tallies = self.waiting().gathered.so_far();
        self.commit(Work { record: None, tallies }, Durability::Synced).await.map(drop)
    }

    /// The final flush, including all counts. Ends the timers and waits up to 5 s until the agent is informed.
    ///
    /// # Errors
    /// As [`Audit::flush`].
    pub async fn close(&self) -> Result<(), ToolError> {
        let tallies = self.waiting().gathered.all();
        let kept = self.commit(Work { record: None, tallies }, Durability::Synced).await.map(drop);
        self.0.closed.cancel();
        // Not an error: at its next start the server tells the agent the rest, from the store.
        let _ = tokio::time::timeout(LAST_WORD, self.all_told()).await;
        kept
    }

    /// The newest records first, and the total number. A page is cut at `most_bytes`.
    ///
    /// # Errors
    /// `unavailable` if the store is.
    pub async fn page(
        &self,
        filter: AuditFilter,
        limit: u32,
        offset: u64,
        most_bytes: usize,
    ) -> Result<AuditPage, ToolError> {
        self.flush().await?;
        self.0
            .store
            .run(move |connection| {
                chain::ensure(connection)?;
                query::page(connection, &filter, limit, offset, most_bytes)
            })
            .await
    }

    /// As [`Audit::page`], for a few records.
    ///
    /// # Errors
    /// As [`Audit::page`].
    pub async fn recent(
        &self,
        filter: AuditFilter,
        limit: u32,
        offset: u64,
    ) -> Result<(Vec<serde_json::Value>, u64), ToolError> {
        let page = self.page(filter, limit, offset, usize::MAX).await?;
        Ok((page.records.into_iter().map(query::value).collect(), page.total))
    }

    /// Checks the whole chain, and compares it with the agent's heads if there are any.
    ///
    /// # Errors
    /// `unavailable` if the store or the agent is.
    pub async fn verify(&self) -> Result<AuditReport, ToolError> {
        self.flush().await?;
        let heads = match &self.0.agent {
            Some(agent) => Some(agent.get::<ListHeads>().await?),
            None => None,
        };
        let place = self.0.store.path().display().to_string();
        self.0
            .store
            .run(move |connection| {
                chain::ensure(connection)?;
                verify(connection, heads.as_ref(), Some(&place))
            })
            .await
    }

    /// Runs in a task of its own: a cancelled caller must not lose the records of others. Returns the number of the
    /// record.
    async fn commit(&self, work: Work, durability: Durability) -> Result<i64, ToolError> {
        let audit = self.clone();
        base::task::spawn(async move { audit.commit_now(work, durability).await })
            .await
            .map_err(|error| ToolError::internal(format!("the audit's task ended: {error}")))?
    }

    async fn commit_now(&self, work: Work, durability: Durability) -> Result<i64, ToolError> {
        let _turn = self.0.turn.lock().await;
        let Work { record, tallies } = work;
        let (reads, lost, broken) = {
            let mut waiting = self.waiting();
            (mem::take(&mut waiting.reads), mem::take(&mut waiting.lost), waiting.broken.clone())
        };
        let why = broken.as_ref().map_or("", |error| error.message.as_str());
        let gap = (lost.count > 0).then(|| PreparedRecord::gap(lost.count, lost.since_ms, why));
        let rows: Vec<PreparedRecord> =
            reads.rows().chain(gap).chain(tallies.iter().map(RepeatCount::prepare)).chain(record).collect();
        if rows.is_empty() {
            return self.sync().await.map(|()| 0);
        }
        self.load_shares().await;
        let result = self.append(rows, durability, broken.is_some()).await;
        let mut waiting = self.waiting();
        match result {
            Ok((head, number, rows)) => {
                (waiting.broken, waiting.failed) = (None, None);
                let now = Instant::now();
                for (principal, bytes) in rows.iter().flat_map(PreparedRecord::shares) {
                    waiting.shares.charge(principal, bytes, now);
                }
                if durability == Durability::Committed {
                    // An earlier failed sync has been repaired: otherwise the store would have refused.
                    waiting.unsynced = Some(Unsynced { head, failed: None });
                    self.arm(&mut waiting);
                    return Ok(number);
                }
                // One file: earlier commits were synced with it.
                waiting.unsynced = None;
                drop(waiting);
                self.announce(head);
                Ok(number)
            }
            Err(error) => {
                // Kept for the next commit if there is room; otherwise the chain records how many are missing.
                let missed = waiting.reads.put_before(reads) as u64;
                let newer = mem::replace(&mut waiting.lost, lost);
                waiting.lost.add(newer.count + missed);
                waiting.gathered.put_back(tallies);
                waiting.broken = Some(error.clone());
                waiting.failed = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// Syncs what was only committed. The caller holds `turn`.
    async fn sync(&self) -> Result<(), ToolError> {
        if self.waiting().unsynced.is_none() {
            return Ok(());
        }
        let result = self.0.store.sync().await;
        let mut waiting = self.waiting();
        match (result, waiting.unsynced.take()) {
            (Ok(()), Some(Unsynced { head, .. })) => {
                drop(waiting);
                self.announce(head);
                Ok(())
            }
            (Err(error), unsynced) => {
                waiting.unsynced = unsynced.map(|of| Unsynced { failed: Some(error.clone()), ..of });
                waiting.failed = Some(Instant::now());
                Err(error)
            }
            (Ok(()), None) => Ok(()),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No code panics while holding the lock; if it did, the counts would still be the best available.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
