//! Queries for the newest records: one entry for each call.
//!
//! A write has two records, its intent and its outcome; the intent is shown only if there is no outcome. Records are
//! read one by one and kept only as far as the answer has room, so memory does not grow with the query.

use super::reads::{NormalizedFilter, Reads};
use base::canonical::ArgsDigest;
use contract::audit::limit;
use rusqlite::{Connection, OpenFlags, named_params};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, ops::Range, path::Path};

/// Which calls to show; an absent field matches all.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub tool: Option<String>,
    pub principal: Option<String>,
    /// "ok", a symbolic error code, or "unknown": no outcome was recorded.
    pub outcome: Option<String>,
    /// Milliseconds since 1970, inclusive.
    pub since_ms: Option<i64>,
    /// Milliseconds since 1970, exclusive.
    pub until_ms: Option<i64>,
}

/// The outcome of a write without one.
pub(super) const UNKNOWN: &str = "unknown";
/// Message of such a write.
const NO_OUTCOME: &str = "recorded before it was done; no outcome is recorded, so whether it was done is not known";
/// Records of earlier versions may be longer than this; they are shown without their arguments.
const LONG: usize = 16 * 1024;

/// A part of the matching records.
#[derive(Debug)]
pub struct AuditPage {
    /// JSON objects, the newest first.
    pub records: Vec<String>,
    /// Number of all matching records.
    pub total: u64,
    /// The page was cut for lack of room.
    pub cut: bool,
}

/// The newest records of the file at `path`, without changing it.
///
/// # Errors
/// SQLite's.
pub fn recent_file(path: &Path, filter: &AuditFilter, limit: u32) -> rusqlite::Result<(Vec<Value>, u64)> {
    let mut records = Vec::new();
    let total = each_recent(path, filter, limit, |record| records.push(value(record)))?;
    Ok((records, total))
}

/// Calls `show` for each record instead of collecting them. Returns the total number.
///
/// # Errors
/// SQLite's.
pub fn each_recent(
    path: &Path,
    filter: &AuditFilter,
    limit: u32,
    mut show: impl FnMut(String),
) -> rusqlite::Result<u64> {
    walk(&open_to_read(path)?, filter, 0..limit.into(), &mut |record| {
        show(record);
        true
    })
}

/// A read-only connection; also works while the server writes the file.
pub(super) fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

/// The newest first, `offset` skipped, at most `limit` and at most `most_bytes` (but at least one); and the number of
/// all that match.
pub(super) fn page(
    connection: &Connection,
    filter: &AuditFilter,
    limit: u32,
    offset: u64,
    most_bytes: usize,
) -> rusqlite::Result<AuditPage> {
    let (mut records, mut bytes, mut cut) = (Vec::new(), 0, false);
    let total = walk(connection, filter, offset..offset.saturating_add(limit.into()), &mut |record| {
        bytes += record.len();
        cut = !records.is_empty() && bytes > most_bytes;
        if !cut {
            records.push(record);
        }
        !cut
    })?;
    Ok(AuditPage { records, total, cut })
}

pub(super) fn value(record: String) -> Value {
    serde_json::from_str(&record).unwrap_or(Value::String(record))
}

/// Rows that may match: single calls by their columns, rows of reads one by one. Outcome and time are compared later,
/// because every outcome must be seen to know which intents have one.
const CANDIDATES: &str = "SELECT seq, kind, outcome, ts, body FROM audit
    WHERE (kind = 'reads' AND (:since IS NULL OR ts >= :since) AND (:principal IS NULL OR principal IN ('', :principal)))
        OR (kind IN ('call', 'gathered', 'intent')
            AND (:tool IS NULL OR tool = :tool) AND (:principal IS NULL OR principal = :principal))
    ORDER BY seq DESC";

/// Calls `take` for each record in `shown` until it returns that it is full; returns how many match the filter.
fn walk(
    connection: &Connection,
    filter: &AuditFilter,
    shown: Range<u64>,
    take: &mut dyn FnMut(String) -> bool,
) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(CANDIDATES)?;
    let mut rows = statement.query(named_params! {
        ":tool": filter.tool, ":principal": filter.principal, ":since": filter.since_ms,
    })?;
    let wanted = NormalizedFilter::of(filter);
    let (mut total, mut room) = (0, true);
    let mut add = |record: &dyn Fn() -> String| {
        if room && shown.contains(&total) {
            room = take(record());
        }
        total += 1;
    };
    let mut answered = Answered::default();
    while let Some(row) = rows.next()? {
        let (seq, ts): (i64, i64) = (row.get(0)?, row.get(3)?);
        let (kind, outcome) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        let body = row.get_ref(4)?.as_str()?;
        match (kind == "reads").then(|| Reads::parse(body)).flatten() {
            Some(reads) => {
                for found in reads.find(&wanted).iter().rev() {
                    add(&|| reads.whole(found, seq).to_string());
                }
            }
            None => {
                let answered = answered.look(seq, kind, body);
                let fits = filter.outcome.as_ref().is_none_or(|wanted| wanted == outcome)
                    && filter.since_ms.is_none_or(|since| ts >= since)
                    && filter.until_ms.is_none_or(|until| ts < until);
                if fits && !answered {
                    add(&|| told(kind, body));
                }
            }
        }
    }
    Ok(total)
}

/// Intents that have an outcome. The walk goes from the newest record to the oldest, so an outcome comes before its
/// intent.
#[derive(Default)]
struct Answered(BTreeSet<i64>);

impl Answered {
    /// Whether this record is an intent whose outcome was seen.
    fn look(&mut self, seq: i64, kind: &str, body: &str) -> bool {
        // Drops intents that were passed without being found (trimmed or removed): memory is bounded by concurrent
        // writes.
        self.0.split_off(&seq.saturating_add(1));
        match kind {
            "intent" => self.0.remove(&seq),
            _ => {
                self.0.extend(intent_of(seq, body));
                false
            }
        }
    }
}

/// The intent that record `seq` is the outcome of, without parsing the rest.
pub(super) fn intent_of(seq: i64, body: &str) -> Option<i64> {
    let rest = body.strip_prefix(&format!("{{\"seq\":{seq},\"intent\":"))?;
    rest.split(',').next()?.parse().ok()
}

/// A write with an intent and no outcome: the server or the power failed in between, or it still runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unfinished {
    pub seq: i64,
    pub at: String,
    pub principal: String,
    pub tool: String,
}

/// Most of them that are listed.
const NAMED: usize = 20;

/// The newest writes of the file at `path` without a known outcome, and how many there are.
///
/// # Errors
/// SQLite's.
pub fn unfinished(path: &Path) -> rusqlite::Result<(Vec<Unfinished>, u64)> {
    let connection = open_to_read(path)?;
    let mut statement = connection.prepare(
        "SELECT seq, kind, body, ts, principal, tool FROM audit WHERE kind IN ('call', 'intent') ORDER BY seq DESC",
    )?;
    let (mut named, mut count, mut answered) = (Vec::new(), 0, Answered::default());
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, kind) = (row.get(0)?, row.get_ref(1)?.as_str()?);
        if answered.look(seq, kind, row.get_ref(2)?.as_str()?) || kind != "intent" {
            continue;
        }
        count += 1;
        if named.len() < NAMED {
            let at = contract::audit::rfc3339(row.get(3)?);
            named.push(Unfinished { seq, at, principal: row.get(4)?, tool: row.get(5)? });
        }
    }
    Ok((named, count))
}

/// A record as it is shown.
fn told(kind: &str, body: &str) -> String {
    let (intent, long) = (kind == "intent", body.len() > LONG);
    if !intent && !long {
        return body.to_owned();
    }
    // Not JSON: the record was tampered with. It is shown unchanged; `audit verify` reports where.
    let Ok(mut record) = serde_json::from_str::<Map<String, Value>>(body) else {
        return body.chars().take(LONG).collect();
    };
    if intent {
        record.insert("message".into(), NO_OUTCOME.into());
    }
    if long && let Some(args) = record.get("args").map(Value::to_string) {
        let sha256 = record.get("args_sha256").and_then(Value::as_str).unwrap_or_default().to_owned();
        record.insert("args".into(), limit::left_out(&ArgsDigest { sha256, bytes: args.len() }, Some(&args)));
    }
    Value::Object(record).to_string()
}
