//! Walks the chain from its first record and compares it with the agent's heads.
//!
//! Reads row by row and only the needed columns, so that neither a long audit nor a hostile row exhausts memory.

use super::{query::open_to_read, walk::Walk};
use crate::audit::chain::{Hash, MAX_BODY, link};
use contract::audit::{
    head::AuditHead,
    known::{KnownChain, KnownHeads},
};
use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};
use serde::Serialize;
use std::path::Path;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    pub ok: bool,
    pub chain: String,
    pub records: u64,
    pub first_seq: i64,
    pub last_seq: i64,
    /// How many of the agent's heads were compared.
    pub heads_checked: u64,
    /// The newest record that the agent has seen and the chain matches: everything up to it is unchanged.
    pub confirmed_through: i64,
    /// The number of the first record that does not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is known to be missing and not yet accepted by an owner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Chains of other stores that the agent knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_chains: Vec<AuditHead>,
}

/// Records that the agent has seen and that are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The chain; empty for lines of the agent's own file.
    pub chain: String,
    /// The newest record known of it.
    pub last_seq: i64,
    /// The time of that record, milliseconds since 1970; 0 if unknown.
    pub last_ms: i64,
    /// What is missing, for a person.
    pub what: String,
}

/// Checks the file at `path` without changing it; also works while the server runs.
///
/// # Errors
/// SQLite's, if the file cannot be read at all.
pub fn verify_file(path: &Path, heads: Option<&KnownHeads>) -> rusqlite::Result<AuditReport> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    verify(&open_to_read(path)?, heads, place.to_str())
}

/// The report of a store whose file is missing; `None` if the agent knows of no records in it.
pub fn missing(path: &Path, heads: Option<&KnownHeads>) -> Option<AuditReport> {
    let report = Walk::new(String::new(), heads?, path.to_str()).finish();
    (!report.gaps.is_empty()).then_some(report)
}

/// Checks every record of the chain of the store that belongs at `place`.
///
/// # Errors
/// SQLite's.
pub fn verify(
    connection: &Connection,
    heads: Option<&KnownHeads>,
    place: Option<&str>,
) -> rusqlite::Result<AuditReport> {
    let none = KnownHeads::default();
    let known = heads.unwrap_or(&none);
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('audit', 'audit_state')";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? < 2 {
        let mut report = Walk::new(String::new(), known, place).finish();
        if heads.is_some() && report.gaps.is_empty() {
            // A new store: no call was recorded, and the agent knows no other chain.
            report.reason = None;
            report.ok = true;
        }
        return Ok(report);
    }
    let chain: Option<String> =
        connection.query_row("SELECT chain FROM audit_state", [], |row| row.get(0)).optional()?;
    let mut walk = Walk::new(chain.unwrap_or_default(), known, place);
    let mut statement = connection.prepare(
        "SELECT seq, octet_length(body), ts, kind, tool, principal, outcome, hash,
            CASE WHEN octet_length(body) <= ?1 THEN body END FROM audit ORDER BY seq",
    )?;
    let mut rows = statement.query([MAX_BODY])?;
    while let Some(row) = rows.next()? {
        let seq = row.get(0).unwrap_or(walk.report.last_seq + 1);
        if let Err(reason) = read(row, |record| walk.step(&record, connection)) {
            walk.report.break_at = Some(seq);
            walk.report.reason = Some(reason);
            break;
        }
    }
    Ok(walk.finish())
}

/// One row, borrowed from SQLite's memory.
pub(super) struct AuditRow<'a> {
    pub seq: i64,
    pub ts_ms: i64,
    /// kind, tool, principal, outcome: copies of fields of the body, for searching.
    pub columns: [&'a str; 4],
    pub hash: Hash,
    pub body: &'a [u8],
}

impl AuditRow<'_> {
    pub fn follows(&self, previous: &Hash) -> bool {
        link(previous, self.body) == self.hash
    }
}

/// The file may have been tampered with: a row with unexpected types does not match.
fn read(row: &Row<'_>, step: impl FnOnce(AuditRow<'_>) -> Result<(), String>) -> Result<(), String> {
    let other = |_| "this is no record of an audit: it was changed".to_owned();
    let seq: i64 = row.get(0).map_err(other)?;
    if row.get::<_, i64>(1).map_err(other)? > MAX_BODY {
        return Err(format!("record {seq} is longer than any that was ever written: it was changed"));
    }
    let text = |at: usize| match row.get_ref(at) {
        Ok(ValueRef::Text(bytes)) => Ok(bytes),
        _ => Err(format!("record {seq} has a column of another type: it was changed")),
    };
    let plain = |at: usize| std::str::from_utf8(text(at)?).map_err(|_| format!("record {seq} is not text"));
    let columns = [plain(3)?, plain(4)?, plain(5)?, plain(6)?];
    let hash = row.get(7).unwrap_or([0; 32]);
    step(AuditRow { seq, ts_ms: row.get(2).map_err(other)?, columns, hash, body: text(8)? })
}

/// Whether the known chain `this` belongs to the same store as the verified one.
pub(super) fn same_store(this: &KnownChain, chain: Option<&KnownChain>, place: Option<&str>) -> bool {
    match chain {
        Some(chain) => chain.store == this.store,
        // The agent never saw this chain: compare the place. A real machine has only one.
        None => this.store.is_empty() || Some(this.store.as_str()) == place,
    }
}
