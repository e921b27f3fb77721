//! The chain in SQLite: tables, appending, and trimming behind a checkpoint.
//!
//! `hash(n) = SHA-256(hash(n-1) || body(n))`, with 32 zero bytes before the first. The body names its own number, so
//! the hash covers order as well as content. The first record of a chain is of kind "start" and names the chain.

use super::record::{Prepared, ROW_OVERHEAD, now_ms};
use crate::access::canonical::{from_hex, hex};
use ring::rand::{SecureRandom, SystemRandom};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

pub(super) type Hash = [u8; 32];

/// The end of a chain at some time: what the agent keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Which chain: a replaced store begins a new one.
    pub chain: String,
    pub seq: i64,
    /// SHA-256, 64 hexadecimal digits.
    pub hash: String,
}

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS audit (
        seq INTEGER PRIMARY KEY,
        ts INTEGER NOT NULL,
        kind TEXT NOT NULL,
        tool TEXT NOT NULL,
        principal TEXT NOT NULL,
        outcome TEXT NOT NULL,
        hash BLOB NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS audit_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        chain TEXT NOT NULL,
        bytes INTEGER NOT NULL
    ) STRICT;";

/// Makes the tables and begins a chain if there is none.
pub(super) fn ensure(connection: &mut Connection) -> rusqlite::Result<()> {
    let exists = connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'audit_state'")?
        .query_row([], |_| Ok(()))
        .optional()?;
    if exists.is_some() {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(SCHEMA)?;
    let mut id = [0u8; 8];
    SystemRandom::new().fill(&mut id).map_err(|_| refused("the kernel gives no random bytes"))?;
    let chain = hex(&id);
    tx.execute("INSERT INTO audit_state (id, chain, bytes) VALUES (1, ?1, 0)", [&chain])?;
    let start = Prepared::own("start", now_ms(), json!({ "chain": chain }));
    let mut end = End { seq: 0, hash: [0; 32], bytes: 0 };
    end.push(&tx, &start)?;
    end.save_size(&tx)?;
    tx.commit()
}

/// Appends `records` in one transaction, then trims to `max_bytes`; returns the new head.
pub(super) fn append(connection: &mut Connection, records: &[Prepared], max_bytes: u64) -> rusqlite::Result<Head> {
    ensure(connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Kept prepared, like all that every commit asks: parsing it costs more than doing it.
    let (chain, total): (String, i64) = tx
        .prepare_cached("SELECT chain, bytes FROM audit_state")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut end = End::of(&tx)?;
    end.bytes = total;
    for record in records {
        end.push(&tx, record)?;
    }
    let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
    let trimmed = end.bytes > max_bytes;
    if trimmed {
        trim(&tx, &mut end, &chain, max_bytes)?;
    }
    end.save_size(&tx)?;
    tx.commit()?;
    if trimmed {
        // Outside the transaction: gives the pages back to the file system.
        connection.execute_batch("PRAGMA incremental_vacuum")?;
    }
    Ok(Head { chain, seq: end.seq, hash: hex(&end.hash) })
}

/// Where the chain ends, inside one transaction.
struct End {
    seq: i64,
    hash: Hash,
    bytes: i64,
}

impl End {
    fn of(tx: &Transaction<'_>) -> rusqlite::Result<Self> {
        let last = tx
            .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        // No record at all: somebody emptied the table. Number one again, and the agent's heads will tell.
        let (seq, hash) = last.unwrap_or((0, [0; 32]));
        Ok(Self { seq, hash, bytes: 0 })
    }

    fn push(&mut self, tx: &Transaction<'_>, record: &Prepared) -> rusqlite::Result<()> {
        let seq = self.seq + 1;
        let body = record.numbered(seq);
        let hash = link(&self.hash, body.as_bytes());
        tx.prepare_cached(
            "INSERT INTO audit (seq, ts, kind, tool, principal, outcome, hash, body) VALUES (?,?,?,?,?,?,?,?)",
        )?
        .execute(params![
            seq,
            record.ts_ms,
            record.kind,
            record.tool,
            record.principal,
            record.outcome,
            hash,
            body
        ])?;
        self.seq = seq;
        self.hash = hash;
        self.bytes += i64::try_from(body.len() + record.columns_len()).unwrap_or(i64::MAX);
        Ok(())
    }

    /// Remembers how large the audit is.
    fn save_size(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        tx.prepare_cached("UPDATE audit_state SET bytes = ?1")?.execute([self.bytes]).map(drop)
    }
}

/// Deletes the oldest records until a tenth is free, and says so in a record that carries the chain on.
fn trim(tx: &Transaction<'_>, end: &mut End, chain: &str, max_bytes: i64) -> rusqlite::Result<()> {
    let target = max_bytes - max_bytes / 10;
    let mut last: Option<(i64, Hash)> = None;
    let mut removed = 0i64;
    {
        let mut statement = tx.prepare(
            "SELECT seq, hash, octet_length(body) + octet_length(tool) + octet_length(principal) + octet_length(outcome)
                + ?1 FROM audit ORDER BY seq",
        )?;
        let mut rows = statement.query([i64::try_from(ROW_OVERHEAD).unwrap_or(0)])?;
        // The newest record stays: the chain needs an end to go on from.
        while let Some(row) = rows.next()? {
            let seq: i64 = row.get(0)?;
            if end.bytes <= target || seq == end.seq {
                break;
            }
            end.bytes -= row.get::<_, i64>(2)?;
            last = Some((seq, row.get(1)?));
            removed += 1;
        }
    }
    let Some((through, hash)) = last else { return Ok(()) };
    tx.execute("DELETE FROM audit WHERE seq <= ?1", [through])?;
    let fields = json!({
        "chain": chain, "through_seq": through, "through_hash": hex(&hash), "removed": removed,
    });
    end.push(tx, &Prepared::own("checkpoint", now_ms(), fields))
}

/// The hash of a record.
pub(super) fn link(previous: &Hash, body: &[u8]) -> Hash {
    Sha256::new().chain_update(previous).chain_update(body).finalize().into()
}

/// A hash as it stands in a checkpoint or a head.
pub(super) fn parse_hash(text: &str) -> Option<Hash> {
    from_hex(text)?.try_into().ok()
}

/// An error of ours where SQLite's are expected.
fn refused(message: &str) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(message.into())
}
