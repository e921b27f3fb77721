//! Looking at the newest records.

use super::{chain, record::rfc3339};
use rusqlite::{Connection, OpenFlags, named_params};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, path::Path};

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
    let mut page = Page { records: Vec::new(), total: 0, shown: offset..offset + u64::from(limit) };
    while let Some(row) = rows.next()? {
        let (seq, kind, body): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match (kind.as_str(), serde_json::from_str::<Reads<'_>>(&body)) {
            ("reads", Ok(reads)) => {
                for call in reads.calls.iter().rev().map(|call| call.get()).filter(|call| wanted.fits(call)) {
                    page.add(|| format!("{{\"seq\":{seq},{}", &call[1..]));
                }
            }
            _ => page.add(|| body),
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
    fn add(&mut self, body: impl FnOnce() -> String) {
        if self.shown.contains(&self.total) {
            let body = body();
            // A record that is no JSON was tampered with: shown as it is, `audit verify` says where.
            self.records.push(serde_json::from_str(&body).unwrap_or_else(|_| Value::String(body)));
        }
        self.total += 1;
    }
}

/// The calls of one row of reads.
#[derive(Deserialize)]
struct Reads<'a> {
    #[serde(borrow)]
    calls: Vec<&'a RawValue>,
}

/// As much of one of them as a filter asks for.
#[derive(Deserialize)]
struct Glance<'a> {
    #[serde(borrow)]
    ts: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    principal: Cow<'a, str>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
}

/// A filter as reads are held against it. Times of one form sort as text.
struct Wanted<'a> {
    filter: &'a Filter,
    since: Option<String>,
    until: Option<String>,
}

impl<'a> Wanted<'a> {
    fn of(filter: &'a Filter) -> Self {
        Self { filter, since: filter.since_ms.map(rfc3339), until: filter.until_ms.map(rfc3339) }
    }

    fn fits(&self, call: &str) -> bool {
        let Filter { tool, principal, outcome, .. } = self.filter;
        if [tool, principal, outcome, &self.since, &self.until].into_iter().all(Option::is_none) {
            return true;
        }
        let Ok(call) = serde_json::from_str::<Glance<'_>>(call) else { return false };
        let same = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        same(tool, &call.tool)
            && same(principal, &call.principal)
            && same(outcome, &call.outcome)
            && self.since.as_ref().is_none_or(|since| *call.ts >= **since)
            && self.until.as_ref().is_none_or(|until| *call.ts < **until)
    }
}
