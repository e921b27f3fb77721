//! Walks the chain from its first record and compares it with what the agent saw.

use super::{
    chain::{Hash, Head, link, parse_hash},
    query::open_to_read,
};
use crate::access::canonical::hex;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

/// What the agent knows of our chains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownHeads {
    /// In the order they came, the newest last. Older ones may be gone.
    pub heads: Vec<Head>,
    /// Lines of the agent's own file whose key did not fit: somebody changed that file.
    pub forged: u64,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub ok: bool,
    pub chain: String,
    pub records: u64,
    pub first_seq: i64,
    pub last_seq: i64,
    /// How many of the agent's heads were compared.
    pub heads_checked: u64,
    /// The number of the first record that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Chains the agent knows that are not in this file: each was replaced or set aside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_chains: Vec<Head>,
}

/// Checks the file at `path` without changing it; also while the server runs.
///
/// # Errors
/// SQLite's, when the file cannot be read at all.
pub fn verify_file(path: &Path, heads: Option<&KnownHeads>) -> rusqlite::Result<Report> {
    verify(&open_to_read(path)?, heads)
}

/// Checks every record of the chain. Reads row by row: memory does not grow with the audit.
///
/// # Errors
/// SQLite's.
pub fn verify(connection: &Connection, heads: Option<&KnownHeads>) -> rusqlite::Result<Report> {
    let chain: String =
        connection.query_row("SELECT chain FROM audit_state", [], |row| row.get(0)).optional()?.unwrap_or_default();
    let mut walk = Walk::new(chain, heads);
    let mut statement =
        connection.prepare("SELECT seq, ts, kind, tool, principal, outcome, hash, body FROM audit ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let row = Row {
            seq: row.get(0)?,
            columns: [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?],
            ts_ms: row.get(1)?,
            hash: row.get(6).unwrap_or([0; 32]),
            body: row.get(7)?,
        };
        if let Err(reason) = walk.step(&row, connection) {
            walk.report.break_at = Some(row.seq);
            walk.report.reason = Some(reason);
            return Ok(walk.report);
        }
    }
    Ok(walk.finish())
}

struct Row {
    seq: i64,
    ts_ms: i64,
    /// kind, tool, principal, outcome: copies of what the body says, for searching.
    columns: [String; 4],
    hash: Hash,
    body: String,
}

struct Walk {
    report: Report,
    previous: Hash,
    /// The agent's heads of this chain: number to hash.
    expected: BTreeMap<i64, String>,
    forged: u64,
    /// The agent has heads, and none of this chain.
    unknown: bool,
}

impl Walk {
    fn new(chain: String, heads: Option<&KnownHeads>) -> Self {
        let mut expected = BTreeMap::new();
        let mut others: BTreeMap<&str, &Head> = BTreeMap::new();
        for head in heads.iter().flat_map(|known| &known.heads) {
            if head.chain == chain {
                expected.insert(head.seq, head.hash.clone());
            } else {
                others.insert(&head.chain, head);
            }
        }
        let unknown = expected.is_empty() && !others.is_empty();
        let report = Report {
            ok: false,
            chain,
            records: 0,
            first_seq: 0,
            last_seq: 0,
            heads_checked: 0,
            break_at: None,
            reason: None,
            other_chains: others.into_values().cloned().collect(),
        };
        Self { report, previous: [0; 32], expected, forged: heads.map_or(0, |known| known.forged), unknown }
    }

    fn step(&mut self, row: &Row, connection: &Connection) -> Result<(), String> {
        let body: Value = serde_json::from_str(&row.body)
            .map_err(|error| format!("record {} is not JSON ({error}): it was changed", row.seq))?;
        if self.report.records == 0 {
            self.begin(row, &body, connection)?;
        } else if row.seq != self.report.last_seq + 1 {
            return Err(format!("record {} is missing before this one", self.report.last_seq + 1));
        }
        if link(&self.previous, row.body.as_bytes()) != row.hash {
            return Err(format!("record {} is not the one its hash was made for: changed, moved or put in", row.seq));
        }
        let says = |field: &str| body[field].as_str().unwrap_or_default();
        let same = body["seq"] == row.seq
            && ["kind", "tool", "principal", "outcome"]
                .into_iter()
                .zip(&row.columns)
                .all(|(field, copy)| says(field) == copy)
            && says("ts") == super::rfc3339(row.ts_ms);
        if !same {
            return Err(format!("the search columns of record {} do not say what the record says", row.seq));
        }
        if let Some(hash) = self.expected.get(&row.seq) {
            if *hash != hex(&row.hash) {
                return Err(format!("the agent saw another record {}: the chain was rewritten", row.seq));
            }
            self.report.heads_checked += 1;
        }
        self.previous = row.hash;
        self.report.last_seq = row.seq;
        self.report.records += 1;
        Ok(())
    }

    /// The first record: the chain's start, or what a checkpoint further on says was the last removed before it.
    fn begin(&mut self, row: &Row, body: &Value, connection: &Connection) -> Result<(), String> {
        self.report.first_seq = row.seq;
        if row.seq == 1 {
            return if body["kind"] == "start" && body["chain"] == self.report.chain.as_str() {
                Ok(())
            } else {
                Err("record 1 is not the start of this chain".into())
            };
        }
        let checkpoint: Option<String> = connection
            .query_row("SELECT body FROM audit WHERE kind = 'checkpoint' ORDER BY seq DESC LIMIT 1", [], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| error.to_string())?;
        // Its own place in the chain is checked when the walk comes to it.
        let checkpoint: Value = checkpoint.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        if checkpoint["through_seq"] != row.seq - 1 || checkpoint["chain"] != self.report.chain.as_str() {
            return Err(format!("records before {} are gone, and no checkpoint says so", row.seq));
        }
        self.previous = checkpoint["through_hash"]
            .as_str()
            .and_then(parse_hash)
            .ok_or_else(|| "the checkpoint has no valid hash".to_owned())?;
        Ok(())
    }

    fn finish(mut self) -> Report {
        let ahead = self.expected.last_key_value().map(|(seq, _)| *seq).filter(|seq| *seq > self.report.last_seq);
        self.report.reason = if self.report.records == 0 {
            Some("there is no record at all; even a new chain has one".into())
        } else if let Some(seq) = ahead {
            self.report.break_at = Some(self.report.last_seq + 1);
            Some(format!(
                "the agent saw record {seq}, the chain ends at {}: records were cut off",
                self.report.last_seq
            ))
        } else if self.unknown {
            Some("the agent has seen other chains, never this one: this file took the place of another".into())
        } else if self.forged > 0 {
            Some(format!("{} lines of the agent's own file of heads are not its own", self.forged))
        } else {
            None
        };
        self.report.ok = self.report.reason.is_none();
        self.report
    }
}
