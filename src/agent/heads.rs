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
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Twice this is the most the file takes: some ten thousand heads.
const MAX_BYTES: u64 = 1 << 20;
/// Heads handed out at once: they fit the protocol's answer, and cover the newest records most densely.
const MAX_GIVEN: usize = 256;

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
    /// The newest.
    last: Mutex<Option<Head>>,
}

impl Heads {
    /// Opens the file, with its key made at the first start.
    pub(super) fn load(folder: &Path, clock: Clock) -> Result<Self, ToolError> {
        let lines = Lines::new(folder.join("audit-heads.ndjson"), MAX_BYTES);
        let heads = Self { lines, key: key(folder)?, clock, last: Mutex::new(None) };
        let newest = heads.known()?.heads.pop();
        *heads.last.lock().unwrap_or_else(PoisonError::into_inner) = newest;
        Ok(heads)
    }

    /// Keeps `head`; says whether a new chain began with it.
    ///
    /// # Errors
    /// `conflict` for a head that goes backwards or contradicts one already kept; `invalid_argument` for none at all.
    pub(super) fn record(&self, head: Head) -> Result<bool, ToolError> {
        if head.seq < 1 || head.chain.len() != 16 || from_hex(&head.hash).is_none_or(|hash| hash.len() != 32) {
            return Err(ToolError::invalid("this is not the head of an audit chain").with("seq", head.seq));
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = match &*last {
            Some(last) if last.chain == head.chain => {
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
                false
            }
            _ => true,
        };
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
        self.lines.append(&json, false)?;
        *last = Some(head);
        Ok(begins)
    }

    pub(super) fn last(&self) -> Option<Head> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest heads and the last of every other chain, newest last.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be read.
    pub(super) fn known(&self) -> Result<KnownHeads, ToolError> {
        let lines = self.lines.read()?;
        let mut known = KnownHeads::default();
        for (index, text) in lines.iter().enumerate() {
            let Ok(line) = serde_json::from_str::<Line>(text) else {
                // A power cut leaves half a line, at the end.
                known.forged += u64::from(index + 1 < lines.len());
                continue;
            };
            let mac = from_hex(&line.mac).unwrap_or_default();
            if hmac::verify(&self.key, line.message().as_bytes(), &mac).is_err() {
                known.forged += 1;
                continue;
            }
            known.heads.push(Head { chain: line.chain, seq: line.seq, hash: line.hash });
        }
        thin(&mut known.heads);
        Ok(known)
    }
}

/// Keeps the newest [`MAX_GIVEN`] heads, and of what came before the last of each chain.
fn thin(heads: &mut Vec<Head>) {
    let surplus = heads.len().saturating_sub(MAX_GIVEN);
    let mut index = 0;
    let last_of_chain: Vec<bool> =
        (0..surplus).map(|at| heads.get(at + 1).is_none_or(|next| next.chain != heads[at].chain)).collect();
    heads.retain(|_| {
        let keep = last_of_chain.get(index).copied().unwrap_or(true);
        index += 1;
        keep
    });
    let surplus = heads.len().saturating_sub(2 * MAX_GIVEN);
    heads.drain(..surplus);
}

fn key(folder: &Path) -> Result<hmac::Key, ToolError> {
    let path = folder.join("audit-heads.key");
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
