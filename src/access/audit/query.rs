//! Looking at the newest records.

use super::chain;
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

const WHERE: &str = "FROM audit WHERE kind = 'call'
    AND (:tool IS NULL OR tool = :tool) AND (:principal IS NULL OR principal = :principal)
    AND (:outcome IS NULL OR outcome = :outcome)
    AND (:since IS NULL OR ts >= :since) AND (:until IS NULL OR ts < :until)";

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

fn select(connection: &Connection, filter: &Filter, limit: u32, offset: u64) -> rusqlite::Result<(Vec<Value>, u64)> {
    let total: i64 = connection.prepare_cached(&format!("SELECT count(*) {WHERE}"))?.query_row(
        named_params! {
            ":tool": filter.tool, ":principal": filter.principal, ":outcome": filter.outcome,
            ":since": filter.since_ms, ":until": filter.until_ms,
        },
        |row| row.get(0),
    )?;
    let mut statement =
        connection.prepare_cached(&format!("SELECT body {WHERE} ORDER BY seq DESC LIMIT :limit OFFSET :offset"))?;
    let rows = statement.query_map(
        named_params! {
            ":tool": filter.tool, ":principal": filter.principal, ":outcome": filter.outcome,
            ":since": filter.since_ms, ":until": filter.until_ms,
            ":limit": limit, ":offset": i64::try_from(offset).unwrap_or(i64::MAX),
        },
        |row| row.get::<_, String>(0),
    )?;
    let mut records = Vec::new();
    for body in rows {
        let body = body?;
        // A record that is no JSON was tampered with: shown as it is, `audit verify` says where.
        records.push(serde_json::from_str(&body).unwrap_or_else(|_| Value::String(body)));
    }
    Ok((records, u64::try_from(total).unwrap_or(0)))
}
