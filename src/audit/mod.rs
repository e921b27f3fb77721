//! The audit: every call, in order, in a chain of hashes that shows later changes.
//!
//! A write has two records: its intent, before anything is done, and what came of it, before it is answered. Both are on the
//! card by then; without the first it is not done. The first refusal of a kind is on the card before it is answered, those
//! that follow within a minute are counted (`gather`). Successful reads wait up to a second and are recorded together, since a
//! commit costs an SD card an erase block; a power cut may lose that second of reads, and of writes whose effect goes with the
//! power too (`Meta::volatile`), never another write. Those are committed before they are answered and synced within the second,
//! by whatever syncs first. No record is longer than 8 KiB ([`contract::audit::limit`]), and no caller has more than its share of the
//! store (`shares`). The privileged half recomputes the chain and signs for what is trimmed (see [`agent::heads`] and
//! `witness`), so that the half that writes it cannot rewrite it unnoticed.

mod backlog;
mod batch;
mod chain;
mod gather;
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
pub use query::{Filter, Page, Unfinished, each_recent, recent_file, unfinished};
pub use verify::{Gap, Report, missing, verify, verify_file};

use crate::store::{Durability, Opened, Store};
use agent::{AgentLink, operations::audit::ListHeads};
use base::error::ToolError;
use batch::Batch;
use contract::audit::{
    Head,
    record::{Prepared, now_ms},
};
use gather::{Gathered, Tally};
use shares::Shares;
use std::{
    mem,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Longest time a successful read waits to be recorded, and a volatile write's record to be on the card.
const DELAY: Duration = Duration::from_secs(1);
/// How long a commit waits for another program that has the file locked.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same after a commit has failed, until one succeeds: others wait for the store's thread meanwhile.
const IMPATIENCE: Duration = Duration::from_millis(100);
/// How long [`Audit::close`] waits for the agent.
const LAST_WORD: Duration = Duration::from_secs(5);
/// How long nobody tries again after a commit has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The server's audit. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Arc<Inner>);

struct Inner {
    store: Store,
    max_bytes: u64,
    /// Who keeps the heads.
    agent: Option<AgentLink>,
    waiting: Mutex<Waiting>,
    /// Told when there was an attempt to make room in a full store.
    room: tokio::sync::Notify,
    /// No more timers: whoever closes the audit has recorded what they wait for.
    closed: CancellationToken,
    /// Told when the agent has been told of everything.
    told: tokio::sync::Notify,
    /// One commit at a time: on a slow card records wait here, where they are bounded, and not in the store's queue.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Waiting {
    reads: Batch,
    /// A task will commit `reads`, and sync what is not, within [`DELAY`].
    timer: bool,
    /// Commits that a power cut would take.
    unsynced: Option<Unsynced>,
    /// What the agent is to be told, and what it said.
    witness: witness::Witness,
    /// Calls that are counted, and not written one by one.
    gathered: Gathered,
    shares: Shares,
    /// What could not be recorded since the last success. The chain gets a record of its number.
    lost: Lost,
    /// Why the last commit failed, until one succeeds.
    broken: Option<ToolError>,
    /// When something failed last.
    failed: Option<Instant>,
}

/// Records that are missing.
#[derive(Default)]
struct Lost {
    count: u64,
    /// When the first of them would have been written.
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

/// What is to be committed, beside the reads that wait.
#[derive(Default)]
struct Work {
    record: Option<Prepared>,
    tallies: Vec<Tally>,
}

struct Unsynced {
    /// The newest of them. The agent is told when it is on the card, not before: a power cut would take the records and
    /// leave their head, which looks like a chain that somebody cut off.
    head: Head,
    /// Why the last sync failed, until one succeeds.
    failed: Option<ToolError>,
}

impl Audit {
    /// An audit in `store` of about `max_bytes`; the oldest records make room behind a checkpoint record.
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

    /// Sees to it that all is on the card within a second. One timer for both, so that a read which a volatile write took
    /// along waits no longer for it.
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

    /// Waits so long, or until the audit is closed.
    async fn pause(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.0.closed.cancelled()).await;
    }

    async fn flush_reads(&self) {
        if let Err(error) = self.flush().await {
            tracing::error!(target: "audit", %error, "records of the last second could not be kept");
        }
    }

    /// Whether a record could be kept, as far as is known without trying.
    ///
    /// # Errors
    /// That of the last commit or sync, or of opening the store.
    pub fn check(&self) -> Result<(), ToolError> {
        let waiting = self.waiting();
        let failed = waiting.unsynced.as_ref().and_then(|unsynced| unsynced.failed.as_ref());
        if let Some(error) = waiting.broken.as_ref().or(failed) {
            return Err(error.clone());
        }
        self.0.store.usable()
    }

    /// Whether it is worth trying to record something: as [`Audit::check`], but what has failed is tried again after a while.
    ///
    /// # Errors
    /// As [`Audit::check`].
    fn worth_trying(&self) -> Result<(), ToolError> {
        if self.waiting().failed.is_some_and(|at| at.elapsed() >= PAUSE) {
            return self.0.store.usable();
        }
        self.check()
    }

    /// Where the store's file went, if it was damaged when this server started and a new chain had to begin.
    pub async fn set_aside(&self) -> Option<PathBuf> {
        match self.0.store.report().await.ok()?.state {
            Opened::Replaced { set_aside, .. } => Some(set_aside),
            _ => None,
        }
    }

    /// Commits the reads that wait and what was counted, and syncs what is not: before the audit is looked at.
    ///
    /// # Errors
    /// As [`Audit::write`]; the reads are kept for the next try, up to the batch's bound.
    pub async fn flush(&self) -> Result<(), ToolError> {
        let tallies = self.waiting().gathered.so_far();
        self.commit(Work { record: None, tallies }, Durability::Synced).await.map(drop)
    }

    /// The same for the last time: all that was counted. Ends the timers and waits up to 5 s until the agent has been told.
    ///
    /// # Errors
    /// As [`Audit::flush`].
    pub async fn close(&self) -> Result<(), ToolError> {
        let tallies = self.waiting().gathered.all();
        let kept = self.commit(Work { record: None, tallies }, Durability::Synced).await.map(drop);
        self.0.closed.cancel();
        // Not an error: what the agent was not told is told at the next start, out of the store.
        let _ = tokio::time::timeout(LAST_WORD, self.all_told()).await;
        kept
    }

    /// The newest records first, and how many there are in all. Of a page that would be longer than `most_bytes`, the
    /// part that is not.
    ///
    /// # Errors
    /// `unavailable` when the store is.
    pub async fn page(&self, filter: Filter, limit: u32, offset: u64, most_bytes: usize) -> Result<Page, ToolError> {
        self.flush().await?;
        self.0
            .store
            .run(move |connection| {
                chain::ensure(connection)?;
                query::page(connection, &filter, limit, offset, most_bytes)
            })
            .await
    }

    /// As [`Audit::page`], for whoever asks for few.
    ///
    /// # Errors
    /// As [`Audit::page`].
    pub async fn recent(
        &self,
        filter: Filter,
        limit: u32,
        offset: u64,
    ) -> Result<(Vec<serde_json::Value>, u64), ToolError> {
        let page = self.page(filter, limit, offset, usize::MAX).await?;
        Ok((page.records.into_iter().map(query::value).collect(), page.total))
    }

    /// Checks the whole chain, against the agent's heads when it has some.
    ///
    /// # Errors
    /// `unavailable` when the store or the agent is.
    pub async fn verify(&self) -> Result<Report, ToolError> {
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

    /// In a task of its own: a caller that leaves does not take the others' records with it. Returns the number of the
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
        let gap = (lost.count > 0).then(|| Prepared::gap(lost.count, lost.since_ms, why));
        let rows: Vec<Prepared> =
            reads.rows().chain(gap).chain(tallies.iter().map(Tally::prepare)).chain(record).collect();
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
                for (principal, bytes) in rows.iter().flat_map(Prepared::shares) {
                    waiting.shares.charge(principal, bytes, now);
                }
                if durability == Durability::Committed {
                    // A sync that failed before has been made good: else the store would have refused.
                    waiting.unsynced = Some(Unsynced { head, failed: None });
                    self.arm(&mut waiting);
                    return Ok(number);
                }
                // It is one file: whatever was committed before is on the card with it.
                waiting.unsynced = None;
                drop(waiting);
                self.announce(head);
                Ok(number)
            }
            Err(error) => {
                // They go with the next commit, if there is room; else the chain will say how many are missing.
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

    /// Brings what was only committed to the card. Whoever calls has the turn.
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
        // Nothing panics while holding it; if something did, the counts are still the best there is.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
