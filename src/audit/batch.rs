//! Successful reads that wait to be recorded together, as rows of the chain.
//!
//! One row per read would cost more in I/O, hashing and SQLite than most reads themselves. A call in a row contains
//! only its differences from the call before it; [`super::reads`] restores the rest. A row is no longer than any other
//! record.

use contract::audit::{
    limit::{MAX_BODY, cut},
    record::{AuditRecord, MAX_NAME, PreparedRecord, RecordBody},
};
use contract::{audit::changed::Changed, meta::Role};
use serde_json::Value;

/// Most reads that can wait.
const MAX_RECORDS: usize = 4096;
/// Most bytes of waiting reads: limits memory, and still allows hundreds of records per commit under load.
const MAX_BYTES: usize = 32 * 1024;

/// Calls in the order they ended.
#[derive(Default)]
pub(super) struct Batch {
    rows: Vec<Row>,
    count: usize,
    bytes: usize,
}

#[derive(Default)]
struct Row {
    /// JSON objects separated by commas.
    calls: Vec<u8>,
    newest_ms: i64,
    /// How many of the bytes belong to each principal.
    of: Vec<(String, usize)>,
    last: Option<Last>,
}

/// The fields of the last call that the next one may share.
struct Last {
    principal: String,
    owner: Option<String>,
    role: Option<Role>,
    door: String,
    tool: String,
    args: Value,
    args_sha256: String,
    outcome: String,
    simulated: bool,
    changed: Changed,
}

impl Batch {
    pub(super) fn push(&mut self, record: &AuditRecord<'_>) {
        if self.rows.last_mut().is_none_or(|row| !row.push(record)) {
            let mut row = Row::default();
            // The first call always fits: it is shorter than the limit of a row.
            row.push(record);
            self.rows.push(row);
        }
        self.count += 1;
        // Only a few rows: each except the last is longer than a fifth of `MAX_BYTES`.
        self.bytes = self.rows.iter().map(|row| row.calls.len()).sum();
    }

    /// The batch is full and must be committed now.
    pub(super) fn is_full(&self) -> bool {
        self.count >= MAX_RECORDS || self.bytes >= MAX_BYTES
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The rows to commit.
    pub(super) fn rows(&self) -> impl Iterator<Item = PreparedRecord> + '_ {
        self.rows.iter().map(|row| PreparedRecord::reads(row.newest_ms, &row.calls, &row.of))
    }

    /// Inserts `older` in front. Returns how many records are lost: all of `older` if there is no room for both.
    pub(super) fn put_before(&mut self, mut older: Self) -> usize {
        if older.count + self.count >= MAX_RECORDS || older.bytes + self.bytes >= MAX_BYTES {
            return older.count;
        }
        older.rows.append(&mut self.rows);
        older.count += self.count;
        older.bytes += self.bytes;
        *self = older;
        0
    }
}

impl Row {
    /// Adds a call if it fits. Returns whether it did.
    fn push(&mut self, record: &AuditRecord<'_>) -> bool {
        let before = self.calls.len();
        if before > 0 {
            self.calls.push(b',');
        }
        let mut body = RecordBody::of(record);
        let like = self.last.as_ref().is_some_and(|last| last.is_like(record));
        if like {
            body.leave_out_what_is_shared();
        }
        body.write_to(&mut self.calls);
        if before > 0 && self.calls.len() > MAX_BODY {
            self.calls.truncate(before);
            return false;
        }
        if !like {
            self.last = Some(Last::of(record));
        }
        self.newest_ms = record.ts_ms;
        let took = self.calls.len() - before;
        let principal = cut(&record.principal, MAX_NAME);
        match self.of.iter_mut().find(|(known, _)| *known == principal) {
            Some((_, bytes)) => *bytes += took,
            None => self.of.push((principal.into_owned(), took)),
        }
        true
    }
}

impl Last {
    fn of(record: &AuditRecord<'_>) -> Self {
        Self {
            principal: record.principal.to_string(),
            owner: record.owner.as_deref().map(str::to_owned),
            role: record.role,
            door: record.door.to_owned(),
            tool: record.tool.to_string(),
            args: record.args.clone(),
            args_sha256: record.args_sha256.to_string(),
            outcome: record.outcome.to_owned(),
            simulated: record.simulated,
            changed: record.changed,
        }
    }

    fn is_like(&self, record: &AuditRecord<'_>) -> bool {
        self.tool == record.tool
            && self.args_sha256 == record.args_sha256
            && self.principal == record.principal
            && self.owner.as_deref() == record.owner.as_deref()
            && self.role == record.role
            && self.door == record.door
            && self.args == record.args
            && self.outcome == record.outcome
            && self.simulated == record.simulated
            && self.changed == record.changed
    }
}
