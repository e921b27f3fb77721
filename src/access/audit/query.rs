//! Looking at the newest records.

use super::{
    chain,
    reads::{Reads, Wanted},
};
use rusqlite::{Connection, OpenFlags, named_params};
use serde_json::Value;
use std::path::Path;

/// Which calls to show; an absent part shows all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub tool: Option<String>,
    pub principal: Option<String>,
    /// "ok" or a symbolic error code.
    pub outcome: Option<String>,
    /// Milliseconds since 1970, inclusive.
    pub since_ms: Option<i64>,
    /// Milliseconds since 1970, exclusive.
    pub until_ms: Option<i64>,
}

/// As [`super::Audit::recent`], from the file at `path`, without changing it.
///
/// # Errors
/// SQLite's.
pub fn recent_file(path: &Path, filter: &Filter, limit: u32) -> rusqlite::Result<(Vec<Value>, u64)> {
    select(&open_to_read(path)?, filter, limit, 0)
}

/// A connection that cannot change the file; also while the server writes it.
pub(super) fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

/// The newest first, `offset` skipped, at most `limit`; and the number of all that fit the filter.
pub(super) fn recent(
    connection: &mut Connection,
    filter: &Filter,
    limit: u32,
    offset: u64,
) -> rusqlite::Result<(Vec<Value>, u64)> {
    chain::ensure(connection)?;
    select(connection, filter, limit, offset)
}

/// Rows that may hold what is looked for: calls with rows of their own are judged by their columns, reads one by one.
const CANDIDATES: &str = "SELECT seq, kind, body FROM audit
    WHERE (:since IS NULL OR ts >= :since) AND (kind = 'reads' OR (kind = 'call'
        AND (:tool IS NULL OR tool = :tool) AND (:principal IS NULL OR principal = :principal)
        AND (:outcome IS NULL OR outcome = :outcome) AND (:until IS NULL OR ts < :until)))
    ORDER BY seq DESC";

fn select(connection: &Connection, filter: &Filter, limit: u32, offset: u64) -> rusqlite::Result<(Vec<Value>, u64)> {
    let mut statement = connection.prepare_cached(CANDIDATES)?;
    let mut rows = statement.query(named_params! {
        ":tool": filter.tool, ":principal": filter.principal, ":outcome": filter.outcome,
        ":since": filter.since_ms, ":until": filter.until_ms,
    })?;
    let wanted = Wanted::of(filter);
    let mut page = Page { records: Vec::new(), total: 0, shown: offset..offset.saturating_add(limit.into()) };
    while let Some(row) = rows.next()? {
        let (seq, kind, body): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // Only rows of reads are taken apart; the others were judged by SQLite.
        match (kind == "reads").then(|| Reads::parse(&body)).flatten() {
            Some(reads) => {
                for found in reads.find(&wanted).iter().rev() {
                    page.add(|| reads.whole(found, seq));
                }
            }
            // A record that is no JSON was tampered with: shown as it is, `audit verify` says where.
            None => page.add(|| serde_json::from_str(&body).unwrap_or(Value::String(body))),
        }
    }
    Ok((page.records, page.total))
}

/// Counts all that fits and keeps the part that is to be shown.
struct Page {
    records: Vec<Value>,
    total: u64,
    shown: std::ops::Range<u64>,
}

impl Page {
    fn add(&mut self, record: impl FnOnce() -> Value) {
        if self.shown.contains(&self.total) {
            self.records.push(record());
        }
        self.total += 1;
    }
}
