//! What the agent remembers of the server's audit: the ends of its chain, each under a key the server never sees.
//!
//! A server that rewrites its audit cannot make the agent forget what it said before.

use super::{Clock, files, files::Lines};
use crate::{
    access::{
        audit::{Head, KnownHeads},
        canonical::{from_hex, hex},
    },
    error::{ErrorCode, ToolError},
};
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Twice this is the most the file takes: some ten thousand heads.
const MAX_BYTES: u64 = 1 << 20;
/// Heads handed out at once: they fit the protocol's answer, and cover the newest records most densely.
const MAX_GIVEN: usize = 256;

/// Chains remembered: a store that is replaced begins one, and so does each further server of one user.
const MAX_CHAINS: usize = 64;
const LINES: &str = "audit-heads.ndjson";
const KEY: &str = "audit-heads.key";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    chain: String,
    seq: i64,
    hash: String,
    ts_ms: i64,
    /// HMAC-SHA256 over the four fields before.
    mac: String,
}

impl Line {
    fn message(&self) -> String {
        format!("{}\n{}\n{}\n{}", self.chain, self.seq, self.hash, self.ts_ms)
    }
}

pub(super) struct Heads {
    lines: Lines,
    key: hmac::Key,
    clock: Clock,
    /// The newest of each chain, the one that moved last at the end. Servers of one user share the agent.
    newest: Mutex<Vec<Head>>,
}

impl Heads {
    /// Opens the file, with its key made at the first start.
    pub(super) fn load(folder: &Path, clock: Clock) -> Result<Self, ToolError> {
        let lines = Lines::new(folder.join(LINES), MAX_BYTES);
        let key = key(folder)?;
        let mut newest = checked(&lines.read()?, &key).heads;
        keep_newest(&mut newest, 0);
        Ok(Self { lines, key, clock, newest: Mutex::new(newest) })
    }

    /// Keeps `head`; says whether a new chain began with it.
    ///
    /// # Errors
    /// `conflict` for a head that goes backwards or contradicts one already kept; `invalid_argument` for none at all.
    pub(super) fn record(&self, head: Head) -> Result<bool, ToolError> {
        if head.seq < 1 || head.chain.len() != 16 || from_hex(&head.hash).is_none_or(|hash| hash.len() != 32) {
            return Err(ToolError::invalid("this is not the head of an audit chain").with("seq", head.seq));
        }
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let before = newest.iter().position(|last| last.chain == head.chain);
        if let Some(last) = before.map(|at| &newest[at]) {
            if *last == head {
                return Ok(false);
            }
            if head.seq <= last.seq {
                return Err(ToolError::new(
                    ErrorCode::Conflict,
                    format!("the audit went back: record {} came after record {}", head.seq, last.seq),
                )
                .with("known_seq", last.seq)
                .with("given_seq", head.seq)
                .hint("run `raspi-mcp audit verify`: records were removed or rewritten"));
            }
        }
        if self.append(&head)? {
            // The older half of the file is gone: chains that rest must not be forgotten with it.
            for other in newest.iter().filter(|other| other.chain != head.chain) {
                self.append(other)?;
            }
        }
        match before {
            Some(at) => drop(newest.remove(at)),
            None if newest.len() >= MAX_CHAINS => drop(newest.remove(0)),
            None => {}
        }
        newest.push(head);
        Ok(before.is_none())
    }

    /// Signs and writes; says whether the file began anew with it.
    fn append(&self, head: &Head) -> Result<bool, ToolError> {
        let mut line = Line {
            chain: head.chain.clone(),
            seq: head.seq,
            hash: head.hash.clone(),
            ts_ms: (self.clock)(),
            mac: String::new(),
        };
        line.mac = hex(hmac::sign(&self.key, line.message().as_bytes()).as_ref());
        let json = serde_json::to_string(&line).map_err(|error| ToolError::internal(format!("audit head: {error}")))?;
        // Not forced to the card: a power cut may forget the newest heads, which only means fewer to compare.
        self.lines.append(&json, false)
    }

    /// The newest of all.
    pub(super) fn last(&self) -> Option<Head> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    /// The newest heads and the last of every other chain, newest last.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be read.
    pub(super) fn known(&self) -> Result<KnownHeads, ToolError> {
        Ok(checked(&self.lines.read()?, &self.key))
    }
}

/// The heads in an agent's `folder`, for whoever may read it while no agent runs. Makes nothing.
///
/// # Errors
/// `unavailable` when the files cannot be read, `not_found` when there are none.
pub fn read(folder: &Path) -> Result<KnownHeads, ToolError> {
    let bytes = files::read(&folder.join(KEY))?
        .ok_or_else(|| ToolError::not_found(format!("no agent has kept anything in {}", folder.display())))?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
    Ok(checked(&Lines::new(folder.join(LINES), MAX_BYTES).read()?, &key))
}

/// The heads in `lines`; a line that `key` did not sign is only counted.
fn checked(lines: &[String], key: &hmac::Key) -> KnownHeads {
    let mut known = KnownHeads::default();
    for text in lines {
        // What is no line at all is half of one: a power cut. Taking a line away shows no more than that would.
        let Ok(line) = serde_json::from_str::<Line>(text) else { continue };
        let mac = from_hex(&line.mac).unwrap_or_default();
        if hmac::verify(key, line.message().as_bytes(), &mac).is_err() {
            known.forged += 1;
            continue;
        }
        known.heads.push(Head { chain: line.chain, seq: line.seq, hash: line.hash });
    }
    keep_newest(&mut known.heads, MAX_GIVEN);
    known
}

/// Keeps the newest `most` heads, and of what came before the last of each chain, at most [`MAX_CHAINS`].
fn keep_newest(heads: &mut Vec<Head>, most: usize) {
    let recent = heads.split_off(heads.len().saturating_sub(most));
    let mut seen: BTreeSet<String> = recent.iter().map(|head| head.chain.clone()).collect();
    let mut last: Vec<Head> = Vec::new();
    for head in heads.drain(..).rev() {
        if last.len() < MAX_CHAINS && seen.insert(head.chain.clone()) {
            last.push(head);
        }
    }
    last.reverse();
    last.extend(recent);
    *heads = last;
}

fn key(folder: &Path) -> Result<hmac::Key, ToolError> {
    let path = folder.join(KEY);
    let bytes = match files::read(&path)? {
        Some(bytes) if bytes.len() == 32 => bytes,
        Some(bytes) => {
            return Err(ToolError::precondition(format!("{} has {} bytes instead of 32", path.display(), bytes.len()))
                .hint("move it away together with audit-heads.ndjson; the agent then begins anew"));
        }
        None => {
            let mut bytes = vec![0u8; 32];
            SystemRandom::new()
                .fill(&mut bytes)
                .map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
            files::replace(&path, &bytes)?;
            bytes
        }
    };
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}
