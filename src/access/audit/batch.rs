//! The successful reads that wait to be recorded together, as one row of the chain.
//!
//! A row for each would cost the card, the hash and SQLite more than most reads cost themselves. A call in a row says only
//! what differs from the call before it: [`super::reads`] puts the rest back.

use super::record::{Body, Prepared, Record};
use crate::registry::meta::Role;
use serde_json::Value;
use std::mem;

/// Most reads of one row.
const MAX_RECORDS: usize = 4096;
/// Most bytes of one row: part of the server's memory budget, and hundreds of records a commit under load.
const MAX_BYTES: usize = 32 * 1024;

/// Calls in the order they ended.
#[derive(Default)]
pub(super) struct Batch {
    /// JSON objects with commas between them.
    calls: Vec<u8>,
    count: usize,
    newest_ms: i64,
    last: Option<Last>,
}

/// What the next call may have in common with the last one.
struct Last {
    principal: String,
    role: Option<Role>,
    door: String,
    tool: String,
    args: Value,
    args_sha256: String,
    outcome: String,
    simulated: bool,
    changed: bool,
}

impl Batch {
    pub(super) fn push(&mut self, record: &Record<'_>) {
        if self.count > 0 {
            self.calls.push(b',');
        }
        let mut body = Body::of(record);
        match &self.last {
            Some(last) if last.is_like(record) => body.leave_out_what_is_shared(),
            _ => self.last = Some(Last::of(record)),
        }
        body.write_to(&mut self.calls);
        self.count += 1;
        self.newest_ms = record.ts_ms;
    }

    /// Nothing more fits: it is to be committed at once.
    pub(super) fn is_full(&self) -> bool {
        self.count >= MAX_RECORDS || self.calls.len() >= MAX_BYTES
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The row it becomes, if it holds anything.
    pub(super) fn row(&self) -> Option<Prepared> {
        (self.count > 0).then(|| Prepared::reads(self.newest_ms, &self.calls))
    }

    /// Puts `older` in front. Returns how many are lost: all of them when there is no room for both.
    pub(super) fn put_before(&mut self, mut older: Self) -> usize {
        if older.count + self.count >= MAX_RECORDS || older.calls.len() + self.calls.len() >= MAX_BYTES {
            return older.count;
        }
        if self.count > 0 {
            // The first of these says everything: it had nobody before it.
            older.calls.push(b',');
            older.calls.append(&mut self.calls);
            older.newest_ms = self.newest_ms;
            older.last = self.last.take();
        }
        older.count += self.count;
        *self = older;
        0
    }

    /// Empty again, its memory kept for the next ones.
    pub(super) fn clear(mut self) -> Self {
        self.calls.clear();
        Self { calls: mem::take(&mut self.calls), ..Self::default() }
    }
}

impl Last {
    fn of(record: &Record<'_>) -> Self {
        Self {
            principal: record.principal.to_string(),
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
            && self.role == record.role
            && self.door == record.door
            && self.args == record.args
            && self.outcome == record.outcome
            && self.simulated == record.simulated
            && self.changed == record.changed
    }
}
