//! The audit: every call, in order, in a chain of hashes that shows later changes.
//!
//! Writes and refusals are on the card before they are answered: when that fails they are not done. Successful reads
//! wait up to a second and become one record together, since a commit costs an SD card an erase block; a power cut may
//! lose that second of reads, and of writes whose effect goes with the power too (`Meta::volatile`), never another write.
//! Those are committed before they are answered and synced within the second, by whatever syncs first. The privileged half keeps keyed copies of the chain's heads
//! (see [`crate::agent::heads`]), so that the half that writes the chain cannot rewrite it unnoticed.

mod backlog;
mod batch;
mod chain;
mod ledger;
mod query;
mod reads;
mod record;
mod verify;

pub use backlog::Backlog;
pub use chain::Head;
pub use query::{Filter, recent_file};
pub use record::{Approval, Record, rfc3339};
pub use verify::{KnownHeads, Report, verify, verify_file};

use crate::{
    agent::AgentLink,
    error::ToolError,
    store::{Durability, Opened, Store},
};
use batch::Batch;
use record::Prepared;
use rusqlite::Connection;
use serde_json::Value;
use std::{
    mem,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Longest time a successful read waits to be recorded, and a volatile write's record to be on the card.
const DELAY: Duration = Duration::from_secs(1);
/// The server's audit. Cheap to clone.
#[derive(Clone)]
pub struct Audit(Arc<Inner>);

struct Inner {
    store: Store,
    max_bytes: u64,
    /// Who keeps the heads.
    agent: Option<AgentLink>,
    waiting: Mutex<Waiting>,
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
    /// Reads that could not be recorded since the last success. The chain gets a record of their number.
    lost: u64,
    /// The newest head the agent has not been given, and whether a task is giving it.
    head: Option<Head>,
    sending: bool,
    agent_silent: bool,
    /// Why the last commit failed, until one succeeds.
    broken: Option<ToolError>,
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
            waiting: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }))
    }

    /// Records a write, or a refusal. When this returns, the record is on the card.
    ///
    /// # Errors
    /// `unavailable` or `resource_exhausted` when it cannot be stored: the caller must not do the write.
    pub async fn write(&self, record: Record<'_>) -> Result<(), ToolError> {
        self.keep(record, Durability::Synced).await
    }

    /// Records a write whose effect does not outlast the power. When this returns, the record outlasts this process; it is
    /// on the card within a second.
    ///
    /// # Errors
    /// As [`Audit::write`].
    pub async fn write_soon(&self, record: Record<'_>) -> Result<(), ToolError> {
        self.keep(record, Durability::Committed).await
    }

    async fn keep(&self, record: Record<'_>, durability: Durability) -> Result<(), ToolError> {
        let record = record.prepare();
        tracing::info!(target: "audit", record = %record.body());
        self.commit(Some(record), durability).await
    }

    /// Records a successful read, within a second. Whoever fills the batch waits until it is committed: callers faster
    /// than the card are slowed down to its pace, and do not pile up in memory.
    pub async fn read(&self, record: Record<'_>) {
        if self.take(&record) {
            self.flush_reads().await;
        }
    }

    /// Puts a read with those that wait; says whether they are to be committed now. Otherwise a timer will.
    fn take(&self, record: &Record<'_>) -> bool {
        let mut waiting = self.waiting();
        tracing::debug!(target: "audit", record = %record.prepare().body());
        waiting.reads.push(record);
        if waiting.reads.is_full() {
            return true;
        }
        self.arm(&mut waiting);
        false
    }

    /// Sees to it that all is on the card within a second. One timer for both, so that a read which a volatile write took
    /// along waits no longer for it.
    fn arm(&self, waiting: &mut Waiting) {
        if !mem::replace(&mut waiting.timer, true) {
            let audit = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(DELAY).await;
                audit.waiting().timer = false;
                audit.flush_reads().await;
            });
        }
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

    /// Where the store's file went, if it was damaged when this server started and a new chain had to begin.
    pub async fn set_aside(&self) -> Option<PathBuf> {
        match self.0.store.report().await.ok()?.state {
            Opened::Replaced { set_aside, .. } => Some(set_aside),
            _ => None,
        }
    }

    /// Commits the reads that wait, and syncs what is not: at shutdown, and before the audit is looked at.
    ///
    /// # Errors
    /// As [`Audit::write`]; the reads are kept for the next try, up to the batch's bound.
    pub async fn flush(&self) -> Result<(), ToolError> {
        self.commit(None, Durability::Synced).await
    }

    /// The newest records first, and how many there are in all.
    ///
    /// # Errors
    /// `unavailable` when the store is.
    pub async fn recent(&self, filter: Filter, limit: u32, offset: u64) -> Result<(Vec<Value>, u64), ToolError> {
        self.flush().await?;
        self.0.store.run(move |connection| query::recent(connection, &filter, limit, offset)).await
    }

    /// Checks the whole chain, against the agent's heads when it has some.
    ///
    /// # Errors
    /// `unavailable` when the store or the agent is.
    pub async fn verify(&self) -> Result<Report, ToolError> {
        self.flush().await?;
        let heads = match &self.0.agent {
            Some(agent) => Some(agent.heads().await?),
            None => None,
        };
        self.0
            .store
            .run(move |connection| {
                chain::ensure(connection)?;
                verify(connection, heads.as_ref())
            })
            .await
    }

    /// In a task of its own: a caller that leaves does not take the others' records with it.
    async fn commit(&self, record: Option<Prepared>, durability: Durability) -> Result<(), ToolError> {
        let audit = self.clone();
        tokio::spawn(async move { audit.commit_now(record, durability).await })
            .await
            .map_err(|error| ToolError::internal(format!("the audit's task ended: {error}")))?
    }

    async fn commit_now(&self, record: Option<Prepared>, durability: Durability) -> Result<(), ToolError> {
        let _turn = self.0.turn.lock().await;
        let (reads, lost) = {
            let mut waiting = self.waiting();
            (mem::take(&mut waiting.reads), mem::take(&mut waiting.lost))
        };
        let gap = (lost > 0).then(|| Prepared::gap(lost));
        let rows: Vec<Prepared> = reads.row().into_iter().chain(gap).chain(record).collect();
        if rows.is_empty() {
            return self.sync().await;
        }
        let max_bytes = self.0.max_bytes;
        let append = move |connection: &mut Connection| chain::append(connection, &rows, max_bytes);
        let result = self.0.store.run_as(durability, append).await;
        let mut waiting = self.waiting();
        match result {
            Ok(head) => {
                waiting.broken = None;
                if waiting.reads.count() == 0 {
                    waiting.reads = reads.clear();
                }
                if durability == Durability::Committed {
                    // A sync that failed before has been made good: else the store would have refused.
                    waiting.unsynced = Some(Unsynced { head, failed: None });
                    self.arm(&mut waiting);
                    return Ok(());
                }
                // It is one file: whatever was committed before is on the card with it.
                waiting.unsynced = None;
                drop(waiting);
                self.announce(head);
                Ok(())
            }
            Err(error) => {
                // They go with the next commit, if there is room; else the chain will say how many are missing.
                waiting.lost += lost + waiting.reads.put_before(reads) as u64;
                waiting.broken = Some(error.clone());
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
                Err(error)
            }
            (Ok(()), None) => Ok(()),
        }
    }

    /// Gives the newest head to the agent, one at a time; heads that pass meanwhile are skipped, the newest covers them.
    fn announce(&self, head: Head) {
        if self.0.agent.is_none() {
            return;
        }
        let mut waiting = self.waiting();
        waiting.head = Some(head);
        if mem::replace(&mut waiting.sending, true) {
            return;
        }
        drop(waiting);
        let audit = self.clone();
        tokio::spawn(async move { audit.send_heads().await });
    }

    async fn send_heads(&self) {
        let Some(agent) = &self.0.agent else { return };
        loop {
            let head = {
                let mut waiting = self.waiting();
                match waiting.head.take() {
                    Some(head) => head,
                    None => {
                        waiting.sending = false;
                        return;
                    }
                }
            };
            let result = agent.record_head(head).await;
            let was_silent = mem::replace(&mut self.waiting().agent_silent, result.is_err());
            if let Err(error) = result
                && !was_silent
            {
                // Not fatal: the chain itself is stored, and the next head covers this one.
                tracing::warn!(target: "audit", %error, "the agent did not take the audit's head");
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while holding it; if something did, the counts are still the best there is.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
