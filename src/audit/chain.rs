//! The chain in SQLite: tables, appending, and trimming behind a checkpoint.
//!
//! `hash(n) = SHA-256(hash(n-1) || body(n))`, with 32 zero bytes before the first. The body contains its own number, so
//! the hash covers order and content. The first record of a chain is of kind "start" and names the chain.

use crate::store;
use base::{
    base64url,
    canonical::{from_hex, hex},
};
use contract::audit::AuditHead;
use contract::audit::{
    known::{AuditCheckpoint, Extension, MAX_EXTENSION, MAX_RECORDS, VerifiedPosition},
    record::{PreparedRecord, ROW_OVERHEAD, now_ms},
};
use ring::rand::{SecureRandom, SystemRandom};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::json;
use sha2::{Digest, Sha256};

pub(super) type Hash = [u8; 32];

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

/// Creates the tables, and begins a chain if there is none.
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
    let start = PreparedRecord::own("start", now_ms(), json!({ "chain": chain }));
    let mut end = End { seq: 0, hash: [0; 32], bytes: 0 };
    end.push(&tx, &start)?;
    end.save_size(&tx)?;
    tx.commit()
}

/// How large the audit may be, and whether the agent must sign for trimming.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLimit {
    pub max_bytes: u64,
    /// The agent signs for what is trimmed. Until it has, the chain may exceed its limit by [`ChainLimit::slack`].
    pub witnessed: bool,
}

impl ChainLimit {
    /// How many bytes beyond `max_bytes` are allowed until the agent has signed: a quarter of it.
    fn slack(self) -> u64 {
        self.max_bytes / 4
    }
}

/// The result of an append.
pub(super) enum Appended {
    /// The new head, the number of the last appended record, and whether the chain exceeds `max_bytes`.
    Done { head: AuditHead, last: i64, over: bool },
    /// Nothing was appended: the agent must sign for trimming first.
    Full,
}

/// Appends `records` in one transaction; returns the new head. Without an agent it also trims to `max_bytes`.
pub(super) fn append(
    connection: &mut Connection,
    records: &[PreparedRecord],
    limit: ChainLimit,
) -> rusqlite::Result<Appended> {
    ensure(connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Prepared statements are cached, as for all queries of a commit: parsing costs more than running them.
    let (chain, total): (String, i64) = tx
        .prepare_cached("SELECT chain, bytes FROM audit_state")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut end = End::of(&tx)?;
    end.bytes = total;
    let max_bytes = i64::try_from(limit.max_bytes).unwrap_or(i64::MAX);
    let most = i64::try_from(limit.max_bytes.saturating_add(limit.slack())).unwrap_or(i64::MAX);
    for record in records {
        end.push(&tx, record)?;
    }
    let last = end.seq;
    if limit.witnessed && end.bytes > most && total > max_bytes {
        return Ok(Appended::Full);
    }
    let over = end.bytes > max_bytes;
    if over && !limit.witnessed {
        trim(&tx, &mut end, &chain, max_bytes)?;
    }
    end.save_size(&tx)?;
    tx.commit()?;
    if over && !limit.witnessed {
        store::give_back(connection)?;
    }
    Ok(Appended::Done {
        head: AuditHead { chain, seq: end.seq, hash: hex(&end.hash) },
        last,
        over: over && limit.witnessed,
    })
}

/// The end of the chain, within one transaction.
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
        // No record at all: the table was emptied. Numbering starts again at one; the agent's heads reveal the loss.
        let (seq, hash) = last.unwrap_or((0, [0; 32]));
        Ok(Self { seq, hash, bytes: 0 })
    }

    fn push(&mut self, tx: &Transaction<'_>, record: &PreparedRecord) -> rusqlite::Result<()> {
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

    /// Stores the size of the audit.
    fn save_size(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        tx.prepare_cached("UPDATE audit_state SET bytes = ?1")?.execute([self.bytes]).map(drop)
    }
}

/// Deletes the oldest records until a tenth of the limit is free, and records that in a checkpoint that continues the
/// chain. Only used without an agent to sign for it.
fn trim(tx: &Transaction<'_>, end: &mut End, chain: &str, max_bytes: i64) -> rusqlite::Result<()> {
    let target = max_bytes - max_bytes / 10;
    let mut last: Option<(i64, Hash)> = None;
    let mut removed = 0i64;
    {
        let mut statement = tx.prepare(SIZES)?;
        let mut rows = statement.query(params![i64::try_from(ROW_OVERHEAD).unwrap_or(0), i64::MAX])?;
        // The newest record stays: the chain continues from it.
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
    end.push(tx, &PreparedRecord::own("checkpoint", now_ms(), fields))
}

/// Number, hash and size in bytes of the records through a number, oldest first.
const SIZES: &str = "SELECT seq, hash, octet_length(body) + octet_length(tool) + octet_length(principal)
    + octet_length(outcome) + ?1 FROM audit WHERE seq <= ?2 ORDER BY seq";

/// Deletes what the agent signed for; the checkpoint record carries its signature. `None` if the agent means another
/// chain.
pub(super) fn follow(connection: &mut Connection, checkpoint: &AuditCheckpoint) -> rusqlite::Result<Option<AuditHead>> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (chain, bytes): (String, i64) =
        tx.query_row("SELECT chain, bytes FROM audit_state", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut end = End::of(&tx)?;
    end.bytes = bytes;
    let through = checkpoint.through_seq;
    let hash: Option<Hash> =
        tx.query_row("SELECT hash FROM audit WHERE seq = ?1", [through], |row| row.get(0)).optional()?;
    if chain != checkpoint.chain || through >= end.seq || hash.is_none_or(|hash| hex(&hash) != checkpoint.through_hash)
    {
        return Ok(None);
    }
    {
        let mut statement = tx.prepare(SIZES)?;
        let mut rows = statement.query(params![i64::try_from(ROW_OVERHEAD).unwrap_or(0), through])?;
        while let Some(row) = rows.next()? {
            end.bytes -= row.get::<_, i64>(2)?;
        }
    }
    tx.execute("DELETE FROM audit WHERE seq <= ?1", [through])?;
    let fields = serde_json::to_value(checkpoint).unwrap_or_default();
    end.push(&tx, &PreparedRecord::own("checkpoint", now_ms(), fields))?;
    end.save_size(&tx)?;
    tx.commit()?;
    store::give_back(connection)?;
    Ok(Some(AuditHead { chain, seq: end.seq, hash: hex(&end.hash) }))
}

/// The chain, the number and hash of the record before the first stored one, and the size in bytes.
pub(super) fn beginning(connection: &Connection) -> rusqlite::Result<(String, i64, Hash, u64)> {
    let (chain, bytes): (String, i64) =
        connection.query_row("SELECT chain, bytes FROM audit_state", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let first: Option<i64> = connection.query_row("SELECT min(seq) FROM audit", [], |row| row.get(0))?;
    let before = first.unwrap_or(1) - 1;
    let mut hash = [0; 32];
    if before > 0 {
        // The newest checkpoint describes what was trimmed.
        let text: Option<String> = connection
            .query_row("SELECT body FROM audit WHERE kind = 'checkpoint' ORDER BY seq DESC LIMIT 1", [], |row| {
                row.get(0)
            })
            .optional()?;
        let body: serde_json::Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        hash = body["through_hash"].as_str().and_then(parse_hash).unwrap_or_default();
    }
    Ok((chain, before, hash, u64::try_from(bytes).unwrap_or(0)))
}

/// The newest record.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<AuditHead> {
    connection.query_row("SELECT chain, seq, hash FROM audit, audit_state ORDER BY seq DESC LIMIT 1", [], |row| {
        Ok(AuditHead { chain: row.get(0)?, seq: row.get(1)?, hash: hex(&row.get::<_, Hash>(2)?) })
    })
}

/// The hash of record `seq`; zero bytes if there is no such record. `None` if it precedes the first stored record.
pub(super) fn hash_of(connection: &Connection, seq: i64) -> rusqlite::Result<Option<Hash>> {
    let (first, last): (Option<i64>, Option<i64>) =
        connection.query_row("SELECT min(seq), max(seq) FROM audit", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if first.is_some_and(|first| seq < first) && last.is_some() {
        return Ok(None);
    }
    let hash = connection.query_row("SELECT hash FROM audit WHERE seq = ?1", [seq], |row| row.get(0)).optional()?;
    Ok(Some(hash.unwrap_or_default()))
}

/// The records after a position, through `until`, as many as fit into one message. `None` if there are none.
pub(super) fn after(
    connection: &Connection,
    at: &VerifiedPosition,
    chain: &str,
    until: i64,
) -> rusqlite::Result<Option<Extension>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, octet_length(body), CASE WHEN octet_length(body) <= ?1 THEN CAST(body AS BLOB) END
            FROM audit WHERE seq > ?2 AND seq <= ?3 ORDER BY seq",
    )?;
    let mut rows = statement.query(params![MAX_BODY, at.seq, until])?;
    let (mut bytes, mut lengths, mut next, mut goes_on) = (Vec::new(), Vec::new(), at.seq + 1, false);
    while let Some(row) = rows.next()? {
        let room = MAX_EXTENSION - bytes.len();
        // A missing or oversized record ends the list: the agent then does not confirm the newest one.
        let Some(body) = row.get::<_, Option<Vec<u8>>>(2)?.filter(|_| row.get(0) == Ok(next)) else { break };
        let from = if lengths.is_empty() { usize::try_from(at.part).unwrap_or(usize::MAX) } else { 0 };
        let Some(rest) = body.get(from..).filter(|rest| !rest.is_empty()) else { break };
        if rest.len() > room && !lengths.is_empty() {
            break;
        }
        let part = &rest[..rest.len().min(room)];
        goes_on = part.len() < rest.len();
        bytes.extend_from_slice(part);
        lengths.push(u32::try_from(part.len()).unwrap_or(0));
        next += 1;
        if goes_on || lengths.len() >= MAX_RECORDS {
            break;
        }
    }
    let extension = Extension {
        chain: chain.to_owned(),
        after: at.seq,
        part: at.part,
        lengths,
        records: base64url::encode(&bytes),
        goes_on,
    };
    Ok((!extension.lengths.is_empty()).then_some(extension))
}

/// Longest accepted record, in bytes: several times what any version of this program wrote.
pub(super) const MAX_BODY: i64 = 4 << 20;

/// The hash of a record.
pub(super) fn link(previous: &Hash, body: &[u8]) -> Hash {
    Sha256::new().chain_update(previous).chain_update(body).finalize().into()
}

/// Parses a hash as written in a checkpoint or a head.
pub(super) fn parse_hash(text: &str) -> Option<Hash> {
    from_hex(text)?.try_into().ok()
}

/// An error of this program in the form of a SQLite error.
fn refused(message: &str) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(message.into())
}
