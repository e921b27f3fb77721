//! How records enter the audit: stored before the answer, stored soon after it, or only counted.

use super::{
    Audit, Waiting, Work,
    gather::{Noted, RepeatCount, Who},
    shares,
};
use crate::store::Durability;
use base::error::ToolError;
use contract::audit::record::AuditRecord;
use std::time::{Duration, Instant};

impl Audit {
    /// Records the outcome of a write, or a refusal. When this returns, the record is on the card.
    ///
    /// # Errors
    /// `unavailable` or `resource_exhausted` when it cannot be stored.
    pub async fn write(&self, record: AuditRecord<'_>) -> Result<(), ToolError> {
        self.keep(record, Durability::Synced).await
    }

    /// Records a write whose effect is lost with the power. When this returns, the record survives the end of this
    /// process; it is on the card within a second.
    ///
    /// # Errors
    /// As [`Audit::write`].
    pub async fn write_soon(&self, record: AuditRecord<'_>) -> Result<(), ToolError> {
        self.keep(record, Durability::Committed).await
    }

    /// Records that a write is about to run, with the `durability` that its outcome will have. Returns the number of
    /// the record, for [`AuditRecord::intent`].
    ///
    /// # Errors
    /// `unavailable` or `resource_exhausted` if it cannot be stored: the write must not run.
    pub async fn intend(&self, mut record: AuditRecord<'_>, durability: Durability) -> Result<i64, ToolError> {
        self.worth_trying()?;
        self.shorten(&mut record);
        let record = record.prepare_intent();
        tracing::debug!(target: "audit", record = %record.body());
        self.commit(Work { record: Some(record), ..Work::default() }, durability).await
    }

    async fn keep(&self, mut record: AuditRecord<'_>, durability: Durability) -> Result<(), ToolError> {
        self.shorten(&mut record);
        let record = record.prepare();
        tracing::info!(target: "audit", record = %record.body());
        let kept = self.commit(Work { record: Some(record), ..Work::default() }, durability).await;
        if kept.is_err() {
            self.waiting().lost.add(1);
        }
        kept.map(drop)
    }

    /// Omits the arguments of a caller that has used up its share.
    fn shorten(&self, record: &mut AuditRecord<'_>) {
        if self.waiting().shares.are_spent(&record.principal, record.role, Instant::now()) {
            record.args = contract::audit::limit::compact(std::mem::take(&mut record.args), &record.args_sha256);
        }
    }

    /// Records a successful read within a second. The caller that fills the batch waits for the commit: this slows
    /// callers to the speed of the card and bounds memory.
    pub async fn read(&self, record: AuditRecord<'_>) {
        if self.take(&record) {
            self.flush_reads().await;
        }
    }

    /// Adds a read to the batch. Returns whether the batch must be committed now; otherwise a timer does it.
    pub(super) fn take(&self, record: &AuditRecord<'_>) -> bool {
        let mut waiting = self.waiting();
        tracing::debug!(target: "audit", record = %record.prepare().body());
        waiting.reads.push(record);
        if waiting.reads.is_full() {
            return true;
        }
        self.arm(&mut waiting);
        false
    }

    /// Counts a refusal unless it is the first of its kind in this window. Returns whether it was counted.
    pub(super) fn gather(&self, who: Who<'_>, tool: &str, outcome: &'static str) -> bool {
        let mut waiting = self.waiting();
        let spent = waiting.shares.are_spent(who.principal, Some(who.role), Instant::now());
        !self.note(&mut waiting, who, tool, outcome, spent).first
    }

    /// Counts a read of a caller that has used up its share. Returns whether it was counted.
    pub(super) fn counted(&self, who: Who<'_>, tool: &str, outcome: &'static str) -> bool {
        let mut waiting = self.waiting();
        let spent = waiting.shares.are_spent(who.principal, Some(who.role), Instant::now());
        if spent {
            self.note(&mut waiting, who, tool, outcome, true);
        }
        spent
    }

    fn note(&self, waiting: &mut Waiting, who: Who<'_>, tool: &str, outcome: &'static str, spent: bool) -> Noted {
        let noted = waiting.gathered.note(who, tool, outcome, spent);
        if let Some(window) = noted.opens {
            let audit = self.clone();
            base::task::spawn(async move { audit.end_window(window).await });
        }
        noted
    }

    /// Waits for the window's end and records what was counted in it.
    async fn end_window(&self, window: Duration) {
        self.pause(window).await;
        let tallies: Vec<RepeatCount> = self.waiting().gathered.ended(window);
        if tallies.is_empty() {
            return;
        }
        if let Err(error) = self.commit(Work { record: None, tallies }, Durability::Synced).await {
            tracing::error!(target: "audit", %error, "the numbers of gathered calls could not be kept yet");
        }
    }

    /// Loads the accounts of all callers from the store, once. The caller holds `turn`.
    pub(super) async fn load_shares(&self) {
        if std::mem::replace(&mut self.waiting().shares.loaded, true) {
            return;
        }
        let loaded = self.0.store.run(|connection| {
            crate::audit::chain::ensure(connection)?;
            shares::load(connection)
        });
        match loaded.await {
            Ok(accounts) => {
                let (mut waiting, now) = (self.waiting(), Instant::now());
                for (principal, bytes) in accounts {
                    waiting.shares.charge(&principal, bytes, now);
                }
            }
            // The next commit fails for the same reason and reports it.
            Err(error) => {
                tracing::warn!(target: "audit", %error, "whose records are how large is not known");
                self.waiting().shares.loaded = false;
            }
        }
    }
}
