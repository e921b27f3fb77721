//! The successful reads that wait to be recorded together, as one row of the chain.
//!
//! A row for each would cost the card, the hash and SQLite more than most reads cost themselves.

use super::record::{Prepared, Record};
use std::mem;

/// Most reads of one row.
const MAX_RECORDS: usize = 4096;
/// Most bytes of one row: part of the server's memory budget, and some 150 records a commit under load.
const MAX_BYTES: usize = 64 * 1024;

/// Calls in the order they ended.
#[derive(Default)]
pub(super) struct Batch {
    /// JSON objects with commas between them.
    calls: Vec<u8>,
    count: usize,
    newest_ms: i64,
}

impl Batch {
    /// Takes `record` and returns its JSON.
    pub(super) fn push(&mut self, record: &Record<'_>) -> &[u8] {
        if self.count > 0 {
            self.calls.push(b',');
        }
        let start = self.calls.len();
        record.write_to(&mut self.calls);
        self.count += 1;
        self.newest_ms = record.ts_ms;
        &self.calls[start..]
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

    /// Puts `older` in front; gives it back when there is no room for both.
    pub(super) fn put_before(&mut self, mut older: Self) -> Result<(), Self> {
        if older.count + self.count >= MAX_RECORDS || older.calls.len() + self.calls.len() >= MAX_BYTES {
            return Err(older);
        }
        if self.count > 0 {
            older.calls.push(b',');
            older.calls.append(&mut self.calls);
            older.newest_ms = self.newest_ms;
        }
        older.count += self.count;
        *self = older;
        Ok(())
    }

    /// Empty again, its memory kept for the next ones.
    pub(super) fn clear(mut self) -> Self {
        self.calls.clear();
        Self { calls: mem::take(&mut self.calls), ..Self::default() }
    }
}
