//! The agent's memory of the server's audit.
//!
//! The server hands over the records and the agent recomputes their hashes: a position is accepted only when it follows
//! from the previous one. So the newest position fixes every record before it. Records may be trimmed from the front
//! only behind a checkpoint that the agent signed. A missing chain counts as a gap until an owner accepts it. A server
//! that rewrites, empties or restarts its audit cannot make the agent forget the earlier records.

mod book;
mod file;
mod told;

use self::{
    book::{Book, Chain, MAX_CHAINS},
    file::{HeadsLine, Tie, parse},
    told::{answer, known},
};
use super::{clock::Clock, files, files::RotatedFile};
use base::{
    base64url,
    canonical::hex,
    error::{ErrorCode, ToolError},
};
use contract::audit::{
    AcceptedGap, AuditCheckpoint, AuditHead, Beginning, Extension, KnownHeads, MAX_RECORDS, RoomRequest,
    VerifiedPosition,
};
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
pub use told::read;

/// The file is rewritten when it is larger than this and has doubled since the last rewrite.
const MAX_BYTES: u64 = 256 << 10;
/// Chains that may begin in an hour; an honest server begins one in its lifetime.
const NEW_CHAINS: usize = 8;
const HOUR_MS: i64 = 3_600_000;
/// Token bucket for positions written to the file: its size, and the time per token. Faster ones are kept in memory
/// meanwhile.
const BURST: u32 = 64;
const ONE_MORE: Duration = Duration::from_millis(500);
/// Interval between checks whether another process changed the file, at least.
const LOOK: Duration = Duration::from_secs(1);
const LINES: &str = "audit-heads.ndjson";
const KEY: &str = "audit-heads.key";

pub(super) struct Heads {
    lines: RotatedFile,
    key: hmac::Key,
    clock: Clock,
    /// `audit.max_bytes` of the configuration.
    max_bytes: u64,
    simulated: bool,
    state: Mutex<State>,
}

struct State {
    book: Book,
    tie: Tie,
    size: u64,
    /// The size above which the file is rewritten.
    most: u64,
    /// Tokens for positions to be written, and when they were counted.
    tokens: u32,
    refilled: Instant,
    /// When the file was last checked, and the number of lines that are not ours.
    looked: Option<(Instant, u64)>,
}

impl Heads {
    /// Opens the file. Its key is created at the first start.
    pub(super) fn load(folder: &Path, clock: Clock, max_bytes: u64, simulated: bool) -> Result<Self, ToolError> {
        // Never rotated: it is rewritten as a whole.
        let lines = RotatedFile::new(folder.join(LINES), u64::MAX);
        let (key, fresh) = key(folder)?;
        let read = lines.read()?;
        let content = file::read(&key, &read, step(max_bytes), simulated);
        let size = read.iter().map(|line| line.len() as u64 + 1).sum();
        let state = State {
            book: content.book,
            tie: content.tie,
            size,
            most: MAX_BYTES,
            tokens: BURST,
            refilled: Instant::now(),
            looked: None,
        };
        let heads = Self { lines, key, clock, max_bytes, simulated, state: Mutex::new(state) };
        if fresh && read.is_empty() {
            heads.state().book.forged = 0;
        }
        if content.old || read.is_empty() {
            heads.rewrite(&mut heads.state())?;
        }
        Ok(heads)
    }

    /// How far the chain was recomputed. Also returns whether this call began it.
    ///
    /// # Errors
    /// `resource_exhausted` when too many chains began; `conflict` when it does not lead to what the previous version
    /// knew.
    pub(super) fn position(&self, asked: &Beginning) -> Result<(VerifiedPosition, bool), ToolError> {
        let hash = parse(&asked.before_hash);
        let plain = asked.store.len() <= 256 && !asked.store.contains(char::is_control);
        let (Some(hash), true) = (hash, is_name(&asked.chain) && asked.before_seq >= 0 && plain) else {
            return Err(ToolError::invalid("this is not the beginning of an audit chain"));
        };
        let mut state = self.state();
        let now = (self.clock)();
        let known = state.book.chains.iter().position(|known| known.name == asked.chain);
        let begins = known.is_none_or(|at| state.book.chains[at].base.is_none());
        if begins {
            let recent = state.book.chains.iter().filter(|chain| now - chain.began_ms < HOUR_MS).count();
            if known.is_none() && (state.book.chains.len() >= MAX_CHAINS || recent >= NEW_CHAINS) {
                return Err(ToolError::exhausted("too many audit chains have begun")
                    .with("limit", MAX_CHAINS)
                    .with("limit_per_hour", NEW_CHAINS)
                    .hint("run `raspi-mcp audit verify`, then `raspi-mcp audit accept-gap` for those that are gone"));
            }
            if let Some(last) = known.and_then(|at| state.book.chains[at].old.last())
                && asked.before_seq >= last.seq
            {
                return Err(ToolError::new(
                    ErrorCode::Conflict,
                    format!("record {} is known of this chain, and what is there begins after it", last.seq),
                )
                .hint("run `raspi-mcp audit verify`: records were removed"));
            }
            let store = if self.simulated { asked.store.clone() } else { String::new() };
            let old = known.map(|at| state.book.chains[at].old.clone()).unwrap_or_default();
            let mut chain = Chain::new(asked.chain.clone(), store, now);
            chain.old = old;
            chain.begin(asked.before_seq, hash);
            self.append(&mut state, &HeadsLine::chain(&chain), true)?;
            match known {
                Some(at) => state.book.chains[at] = chain,
                None => state.book.chains.push(chain),
            }
        }
        Ok((answer(&state.book, &asked.chain)?, begins))
    }

    /// Recomputes the chain over more records.
    ///
    /// # Errors
    /// `conflict` for records that do not follow the position; `not_found` for a chain that has not begun.
    pub(super) fn extend(&self, given: &Extension) -> Result<VerifiedPosition, ToolError> {
        let bytes = base64url::decode(&given.records);
        let whole = given.lengths.iter().map(|length| u64::from(*length)).sum::<u64>();
        let some = (1..=MAX_RECORDS).contains(&given.lengths.len()) && !given.lengths.contains(&0);
        let Some(bytes) = bytes.filter(|bytes| some && bytes.len() as u64 == whole) else {
            return Err(ToolError::invalid("these are not records of an audit chain"));
        };
        let (now, step) = ((self.clock)(), step(self.max_bytes));
        let mut state = self.state();
        let State { book, .. } = &mut *state;
        let at = book.chains.iter().position(|known| known.name == given.chain).ok_or_else(|| unknown(&given.chain))?;
        // The chain that advanced last is last in the list.
        let chain = book.chains.remove(at);
        book.chains.push(chain);
        let Book { chains, gaps, .. } = book;
        let Some(chain) = chains.last_mut() else { return Err(unknown(&given.chain)) };
        if chain.base.is_none() || chain.newest.seq != given.after || chain.part() != given.part {
            return Err(ToolError::new(ErrorCode::Conflict, "these records do not follow the last one the agent has")
                .with("known_seq", chain.newest.seq)
                .with("given_seq", given.after));
        }
        chain.newest_ms = now;
        let (mut rest, mut noted, mut result) = (bytes.as_slice(), Vec::new(), Ok(()));
        for (at, length) in given.lengths.iter().enumerate() {
            let (record, after) = rest.split_at(*length as usize);
            rest = after;
            let goes_on = given.goes_on && at + 1 == given.lengths.len();
            result = chain.hear(record, goes_on, step);
            if result.is_err() {
                break;
            }
            for (gap, seen) in gaps.iter_mut().filter(|(_, seen)| !seen) {
                *seen = record.windows(gap.signature.len()).any(|part| part == gap.signature.as_bytes());
                if *seen {
                    noted.push(gap.signature.clone());
                }
            }
        }
        for signature in noted {
            self.append(&mut state, &HeadsLine::noted(&signature, now), false)?;
        }
        self.write_positions(&mut state);
        result?;
        answer(&state.book, &given.chain)
    }

    /// Signs a checkpoint up to which records may be trimmed. Returns the same one until the server has applied it.
    ///
    /// # Errors
    /// `failed_precondition` when the chain is not that large.
    pub(super) fn make_room(&self, asked: &RoomRequest) -> Result<AuditCheckpoint, ToolError> {
        let mut state = self.state();
        let max = self.max_bytes;
        let chain = state.book.find(&asked.chain).ok_or_else(|| unknown(&asked.chain))?;
        if let Some(last) = chain.checkpoints.last().filter(|last| last.through_seq >= asked.first_seq) {
            return Ok(last.clone());
        }
        let cut = chain.cut(asked.free, max / 2).filter(|_| chain.bytes() >= max / 4 * 3);
        let (Some(cut), Some(base)) = (cut, chain.base) else {
            return Err(ToolError::precondition(
                "the agent does not know the audit to be so large that records may go",
            )
            .with("bytes", chain.bytes())
            .with("max_bytes", max)
            .hint("audit.max_bytes of both halves must be the same; restart the agent after a change"));
        };
        let checkpoint = file::signed(
            &self.key,
            AuditCheckpoint {
                chain: asked.chain.clone(),
                through_seq: cut.seq,
                through_hash: hex(&cut.hash),
                removed: cut.seq - base.seq,
                why: format!("the record reached audit.max_bytes, {max}"),
                ts_ms: (self.clock)(),
                signature: String::new(),
            },
        );
        self.append(&mut state, &HeadsLine::checkpoint(&checkpoint, cut.bytes), true)?;
        let chain = state.book.find(&asked.chain).ok_or_else(|| unknown(&asked.chain))?;
        chain.add(checkpoint.clone(), cut);
        Ok(checkpoint)
    }

    /// Gives a chain up: an owner accepts that it is missing from `seq` on. An empty name stands for the lines of this
    /// file that are not the agent's.
    ///
    /// # Errors
    /// `not_found` when it is not known, `conflict` when more is known of it than the owner saw.
    pub(super) fn accept(&self, chain: &str, seq: i64, by: &str) -> Result<AcceptedGap, ToolError> {
        let mut state = self.state();
        let last = match chain {
            "" => AuditHead {
                chain: String::new(),
                seq: i64::try_from(self.forged(&mut state)?).unwrap_or(i64::MAX),
                hash: String::new(),
            },
            _ => {
                let known = state.book.find(chain).ok_or_else(|| unknown(chain))?;
                known.head(known.last())
            }
        };
        if last.seq != seq {
            return Err(ToolError::new(ErrorCode::Conflict, format!("record {} is known of it by now", last.seq))
                .hint("run `raspi-mcp audit verify` again"));
        }
        let gap = file::accepted(&self.key, last, by, (self.clock)());
        state.book.accept(gap.clone(), false);
        // Rewritten as a whole: the accepted gap may be lines of this very file.
        self.rewrite(&mut state)?;
        Ok(gap)
    }

    /// The newest position of all chains.
    pub(super) fn last(&self) -> Option<AuditHead> {
        self.state().book.chains.last().map(|chain| chain.head(chain.last())).filter(|head| head.seq > 0)
    }

    /// All that is known.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be read.
    pub(super) fn known(&self) -> Result<KnownHeads, ToolError> {
        let mut state = self.state();
        let forged = self.forged(&mut state)?;
        Ok(known(&state.book, forged))
    }

    /// Lines of the file that are not ours, as of a check at most a second ago.
    fn forged(&self, state: &mut State) -> Result<u64, ToolError> {
        let found = match state.looked {
            Some((when, found)) if when.elapsed() < LOOK => found,
            _ => {
                let found =
                    file::read(&self.key, &self.lines.read()?, step(self.max_bytes), self.simulated).book.forged;
                state.looked = Some((Instant::now(), found));
                found
            }
        };
        Ok(found.max(state.book.forged))
    }

    /// Writes the newest positions, within the rate limit. An error is ignored: it only leaves fewer positions to
    /// compare.
    fn write_positions(&self, state: &mut State) {
        let more = u32::try_from(state.refilled.elapsed().as_millis() / ONE_MORE.as_millis()).unwrap_or(BURST);
        if more > 0 {
            state.tokens = state.tokens.saturating_add(more).min(BURST);
            state.refilled = Instant::now();
        }
        for at in 0..state.book.chains.len() {
            let chain = &mut state.book.chains[at];
            // Marks are rare, one per `step` bytes, so they are not rate limited.
            let mut marks = std::mem::take(&mut chain.unwritten);
            if !chain.written && state.tokens > 0 {
                state.tokens -= 1;
                chain.written = true;
                marks.push(chain.newest);
            }
            for mark in marks {
                let line = HeadsLine::head(&state.book.chains[at], mark);
                if let Err(error) = self.append(state, &line, false) {
                    tracing::error!(target: "agent", %error, "the audit's position could not be kept");
                }
            }
        }
        if state.size > state.most
            && let Err(error) = self.rewrite(state)
        {
            tracing::error!(target: "agent", %error, "the audit's positions could not be kept");
        }
    }

    fn append(&self, state: &mut State, line: &HeadsLine, durable: bool) -> Result<(), ToolError> {
        let mut tie = state.tie.clone();
        let text = tie.write(&self.key, line);
        self.lines.append(&text, durable)?;
        state.tie = tie;
        state.size += text.len() as u64 + 1;
        Ok(())
    }

    fn rewrite(&self, state: &mut State) -> Result<(), ToolError> {
        let mut tie = Tie::default();
        let mut text = String::new();
        for line in file::written(&state.book, (self.clock)()) {
            text.push_str(&tie.write(&self.key, &line));
            text.push('\n');
        }
        self.lines.replace(&text)?;
        state.tie = tie;
        state.size = text.len() as u64;
        state.most = MAX_BYTES.max(state.size * 2);
        state.looked = None;
        for chain in &mut state.book.chains {
            chain.written = true;
            chain.unwritten.clear();
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Heads {
    fn drop(&mut self) {
        let mut state = self.state();
        state.tokens = BURST;
        self.write_positions(&mut state);
    }
}

/// Distance between kept positions, in bytes.
fn step(max_bytes: u64) -> u64 {
    (max_bytes / 64).max(1)
}

fn is_name(chain: &str) -> bool {
    chain.len() == 16 && chain.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn unknown(chain: &str) -> ToolError {
    ToolError::not_found(format!("the agent knows no audit chain {chain}"))
}

/// The key, and whether it was created now.
fn key(folder: &Path) -> Result<(hmac::Key, bool), ToolError> {
    let path = folder.join(KEY);
    let (bytes, fresh) = match files::read(&path)? {
        Some(bytes) if bytes.len() == 32 => (bytes, false),
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
            (bytes, true)
        }
    };
    Ok((hmac::Key::new(hmac::HMAC_SHA256, &bytes), fresh))
}
