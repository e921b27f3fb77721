//! One walk along the chain: checks each record against the chain and the agent's heads.

use super::verify::{AuditReport, AuditRow, Gap, same_store};
use crate::audit::chain::{Hash, parse_hash};
use base::canonical::hex;
use contract::audit::{
    head::AuditHead,
    known::{AuditCheckpoint, KnownChain, KnownHeads},
    rfc3339,
};
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;
use std::{borrow::Cow, collections::BTreeMap};

pub(super) struct Walk<'a> {
    pub report: AuditReport,
    previous: Hash,
    known: &'a KnownHeads,
    /// What the agent knows of this chain.
    chain: Option<&'a KnownChain>,
    /// The agent's heads of this chain: number to hash.
    expected: BTreeMap<i64, &'a str>,
    /// The chain differs from the agent's heads although it is consistent in itself.
    differs: bool,
}

/// The needed fields of a record. All others are skipped without allocating.
#[derive(Deserialize)]
struct Body<'a> {
    seq: i64,
    #[serde(borrow, default)]
    ts: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    tool: Cow<'a, str>,
    #[serde(borrow, default)]
    principal: Cow<'a, str>,
    #[serde(borrow, default)]
    outcome: Cow<'a, str>,
    #[serde(borrow, default)]
    chain: Cow<'a, str>,
}

/// The contents of a checkpoint.
#[derive(Deserialize)]
struct Cut {
    chain: String,
    through_seq: i64,
    through_hash: String,
    #[serde(default)]
    signature: String,
}

impl<'a> Walk<'a> {
    pub fn new(chain: String, known: &'a KnownHeads, place: Option<&str>) -> Self {
        let this = known.chains.iter().find(|known| known.chain == chain);
        let expected: BTreeMap<i64, &str> = base::sort::map(
            known.heads.iter().filter(|head| head.chain == chain).map(|head| (head.seq, head.hash.as_str())),
        );
        let mut report = AuditReport { chain, ..AuditReport::default() };
        // Heads of a chain that is otherwise unknown come from an agent of the previous version.
        let mut newest: BTreeMap<&str, (&AuditHead, Option<&KnownChain>)> = BTreeMap::new();
        for head in known.heads.iter().filter(|head| head.chain != report.chain) {
            newest.insert(&head.chain, (head, known.chains.iter().find(|other| other.chain == head.chain)));
        }
        for (head, other) in newest.into_values() {
            if other.is_none_or(|other| same_store(other, this, place)) {
                report.gaps.push(Gap {
                    chain: head.chain.clone(),
                    last_seq: head.seq,
                    last_ms: other.map_or(0, |other| other.last_ms),
                    what: "a whole chain: its store was deleted, replaced or set aside".into(),
                });
            } else {
                report.other_chains.push(head.clone());
            }
        }
        Self { report, previous: [0; 32], known, chain: this, expected, differs: false }
    }

    /// # Errors
    /// Why the record does not match.
    pub fn step(&mut self, record: &AuditRow<'_>, connection: &Connection) -> Result<(), String> {
        let seq = record.seq;
        let body: Body<'_> = serde_json::from_slice(record.body)
            .map_err(|error| format!("record {seq} is not JSON ({error}): it was changed"))?;
        if self.report.records == 0 {
            self.begin(seq, &body, connection)?;
        } else if seq != self.report.last_seq + 1 {
            return Err(format!("record {} is missing before this one", self.report.last_seq + 1));
        }
        if !record.follows(&self.previous) {
            return Err(format!("record {seq} is not the one its hash was made for: changed, moved or put in"));
        }
        let says = [&body.kind, &body.tool, &body.principal, &body.outcome];
        let same = says.into_iter().zip(record.columns).all(|(says, copy)| says == copy);
        if body.seq != seq || !same || body.ts != rfc3339(record.ts_ms) {
            return Err(format!("the search columns of record {seq} do not say what the record says"));
        }
        if let Some(hash) = self.expected.get(&seq) {
            if *hash != hex(&record.hash) {
                self.differs = true;
                return Err(format!("the agent saw another record {seq}: the chain was rewritten before it"));
            }
            self.report.heads_checked += 1;
            self.report.confirmed_through = seq;
        }
        self.previous = record.hash;
        self.report.last_seq = seq;
        self.report.records += 1;
        Ok(())
    }

    /// The first record: the chain's start, or the first after a checkpoint.
    fn begin(&mut self, seq: i64, body: &Body<'_>, connection: &Connection) -> Result<(), String> {
        self.report.first_seq = seq;
        if seq == 1 {
            return if body.kind == "start" && body.chain == self.report.chain.as_str() {
                Ok(())
            } else {
                Err("record 1 is not the start of this chain".into())
            };
        }
        let checkpoint: Option<String> = connection
            .query_row(
                "SELECT body FROM audit WHERE kind = 'checkpoint' AND octet_length(body) < 65536 ORDER BY seq DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| error.to_string())?;
        // The checkpoint's own place in the chain is checked when the walk reaches it.
        let cut: Option<Cut> = checkpoint.and_then(|text| serde_json::from_str(&text).ok());
        let cut = cut
            .filter(|cut| cut.through_seq == seq - 1 && cut.chain == self.report.chain)
            .ok_or_else(|| format!("records before {seq} are gone, and no checkpoint says so"))?;
        self.signed(&cut)?;
        self.previous = parse_hash(&cut.through_hash).ok_or_else(|| "the checkpoint has no valid hash".to_owned())?;
        Ok(())
    }

    /// Whether the agent agreed to trim these records. Without an agent that recomputed the chain this cannot be
    /// checked.
    fn signed(&mut self, cut: &Cut) -> Result<(), String> {
        let Some(chain) = self.chain.filter(|chain| chain.proven) else { return Ok(()) };
        let fits = |kept: &&AuditCheckpoint| {
            kept.through_seq == cut.through_seq
                && kept.through_hash == cut.through_hash
                && (kept.signature.is_empty() || kept.signature == cut.signature)
        };
        if chain.beginnings.iter().any(|kept| fits(&kept)) {
            return Ok(());
        }
        self.differs = true;
        Err(format!("records through {} are gone, and the agent did not sign for that", cut.through_seq))
    }

    pub fn finish(mut self) -> AuditReport {
        let newest = self.expected.last_key_value().map(|(seq, _)| *seq);
        let last = self.report.last_seq;
        if self.report.reason.is_none() {
            if self.report.records == 0 {
                self.report.reason = Some("there is no record at all; even a new chain has one".into());
                self.differs = true;
            } else if let Some(seq) = newest.filter(|seq| *seq > last) {
                self.report.break_at = Some(last + 1);
                self.report.reason =
                    Some(format!("the agent saw record {seq}, the chain ends at {last}: records were cut off"));
                self.differs = true;
            }
        }
        if let Some(seq) = newest.filter(|_| self.differs) {
            let gap = Gap {
                chain: self.report.chain.clone(),
                last_seq: seq,
                last_ms: self.chain.map_or(0, |chain| chain.last_ms),
                what: "records of this chain: removed, rewritten, or an older copy was put back".into(),
            };
            self.report.gaps.push(gap);
        }
        let unknown = self.chain.is_none() && self.expected.is_empty() && !self.known.heads.is_empty();
        let forged = self.known.forged;
        if forged > 0 {
            let what = format!("{forged} lines of the agent's own file: changed, moved or taken away");
            self.report.gaps.push(Gap {
                chain: String::new(),
                last_seq: i64::try_from(forged).unwrap_or(i64::MAX),
                last_ms: 0,
                what,
            });
        }
        let also = match self.report.gaps.first() {
            Some(_) if unknown => {
                Some("the agent has seen other chains, never this one: this file took the place of another".to_owned())
            }
            Some(gap) if gap.chain.is_empty() => Some(gap.what.clone()),
            Some(gap) => {
                Some(format!("the chain {} is missing, which the agent saw up to record {}", gap.chain, gap.last_seq))
            }
            None => None,
        };
        self.report.reason = self.report.reason.take().or(also);
        self.report.ok = self.report.reason.is_none();
        self.report
    }
}
