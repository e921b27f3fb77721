//! The successful reads that wait to be recorded together, as rows of the chain.
//!
//! A row for each would cost the card, the hash and SQLite more than most reads cost themselves. A call in a row says only
//! what differs from the call before it: [`super::reads`] puts the rest back. A row is no longer than any other record.

use contract::audit::{
    limit::{MAX_BODY, cut},
    record::{Body, MAX_NAME, Prepared, Record},
};
use contract::{audit::changed::Changed, meta::Role};
use serde_json::Value;

/// Most reads that wait.
const MAX_RECORDS: usize = 4096;
/// Most bytes of them: part of the server's memory budget, and hundreds of records a commit under load.
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
    /// JSON objects with commas between them.
    calls: Vec<u8>,
    newest_ms: i64,
    /// How many bytes of them are whose.
    of: Vec<(String, usize)>,
    last: Option<Last>,
}

/// What the next call may have in common with the last one.
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
    pub(super) fn push(&mut self, record: &Record<'_>) {
        if self.rows.last_mut().is_none_or(|row| !row.push(record)) {
            let mut row = Row::default();
            // The first call of a row is shorter than a row may be.
            row.push(record);
            self.rows.push(row);
        }
        self.count += 1;
        // A handful of rows: each is longer than a fifth of the whole, but for the last.
        self.bytes = self.rows.iter().map(|row| row.calls.len()).sum();
    }

    /// Nothing more fits: it is to be committed at once.
    pub(super) fn is_full(&self) -> bool {
        self.count >= MAX_RECORDS || self.bytes >= MAX_BYTES
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The rows it becomes.
    pub(super) fn rows(&self) -> impl Iterator<Item = Prepared> + '_ {
        self.rows.iter().map(|row| Prepared::reads(row.newest_ms, &row.calls, &row.of))
    }

    /// Puts `older` in front. Returns how many are lost: all of them when there is no room for both.
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
    /// Takes one more call, if it has room for it.
    fn push(&mut self, record: &Record<'_>) -> bool {
        let before = self.calls.len();
        if before > 0 {
            self.calls.push(b',');
        }
        let mut body = Body::of(record);
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
    fn of(record: &Record<'_>) -> Self {
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

    fn is_like(&self, record: &Record<'_>) -> bool {
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
