//! The known audit chains, in memory: how far each was recomputed, and where it may begin.

use base::error::{ErrorCode, ToolError};
use contract::audit::{AcceptedGap, AuditCheckpoint, AuditHead};
use sha2::{Digest, Sha256};

/// Positions kept per chain besides the newest. They show where a rewritten chain differs, and where it may be trimmed.
const MAX_MARKS: usize = 128;
/// Checkpoints kept per chain: the newest counts, unless the server had no time to apply it.
const MAX_CHECKPOINTS: usize = 8;
/// Chains that no owner has given up. A full table accepts no new one.
pub(super) const MAX_CHAINS: usize = 24;
/// Gaps that an owner accepted; the oldest is dropped first. The log of operations keeps it longer.
pub(super) const MAX_GAPS: usize = 32;
/// Bytes per record besides its body, as the store counts them.
const OVERHEAD: u64 = 80;

pub(super) type Hash = [u8; 32];

/// A record's number, its hash, and the size of the chain up to it in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainPosition {
    pub seq: i64,
    pub hash: Hash,
    pub bytes: u64,
}

/// One chain.
pub(super) struct Chain {
    pub name: String,
    pub store: String,
    pub began_ms: i64,
    pub newest_ms: i64,
    /// Where it begins now: earlier records were trimmed with our checkpoint, or were missing when we first saw it.
    pub base: Option<ChainPosition>,
    pub marks: Vec<ChainPosition>,
    pub newest: ChainPosition,
    /// The running hash of the record after `newest`, and the bytes received of it.
    open: Option<(Sha256, u64)>,
    pub checkpoints: Vec<AuditCheckpoint>,
    /// Heads that the previous version accepted without recomputing, until the chain is recomputed past them.
    pub old: Vec<ChainPosition>,
    /// Whether `newest` is in the file.
    pub written: bool,
    /// Marks that are not in the file yet.
    pub unwritten: Vec<ChainPosition>,
}

impl Chain {
    pub fn new(name: String, store: String, ts_ms: i64) -> Self {
        let newest = ChainPosition { seq: 0, hash: [0; 32], bytes: 0 };
        Self {
            name,
            store,
            began_ms: ts_ms,
            newest_ms: ts_ms,
            base: None,
            marks: Vec::new(),
            newest,
            open: None,
            checkpoints: Vec::new(),
            old: Vec::new(),
            written: true,
            unwritten: Vec::new(),
        }
    }

    /// Begins where the server says that its records begin.
    pub fn begin(&mut self, seq: i64, hash: Hash) {
        let base = ChainPosition { seq, hash, bytes: 0 };
        self.base = Some(base);
        self.newest = base;
    }

    /// Bytes received of the record after the newest.
    pub fn part(&self) -> u64 {
        self.open.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    /// Hashes `bytes` of the next record.
    ///
    /// # Errors
    /// `conflict` when the record differs from what an older version of the agent saw.
    pub fn hear(&mut self, bytes: &[u8], goes_on: bool, step: u64) -> Result<(), ToolError> {
        let (hash, before) = self.open.take().unwrap_or_else(|| (Sha256::new().chain_update(self.newest.hash), 0));
        let hash = hash.chain_update(bytes);
        let length = before + bytes.len() as u64;
        if goes_on {
            self.open = Some((hash, length));
            return Ok(());
        }
        let (seq, hash) = (self.newest.seq + 1, hash.finalize().into());
        if self.old.iter().any(|mark| mark.seq == seq && mark.hash != hash) {
            return Err(ToolError::new(
                ErrorCode::Conflict,
                format!("record {seq} is not the one the agent was told of"),
            )
            .with("seq", seq)
            .hint("run `raspi-mcp audit verify`: records were rewritten"));
        }
        self.old.retain(|mark| mark.seq > seq);
        self.advance(ChainPosition { seq, hash, bytes: self.newest.bytes + length + OVERHEAD }, step);
        Ok(())
    }

    /// Advances to `mark`; the previous newest is kept as a mark when it is far enough from the last one.
    pub fn advance(&mut self, mark: ChainPosition, step: u64) {
        let kept = self.marks.last().or(self.base.as_ref()).map_or(0, |kept| kept.bytes);
        if self.newest.bytes.saturating_sub(kept) >= step && self.newest.bytes > kept {
            self.marks.push(self.newest);
            self.unwritten.push(self.newest);
        }
        if self.marks.len() > MAX_MARKS {
            // Drops every second one, so that they stay spread over the whole chain.
            let mut at = 0;
            self.marks.retain(|_| {
                at += 1;
                at % 2 == 0
            });
        }
        self.newest = mark;
        self.written = false;
    }

    /// The first mark that frees `free` bytes and leaves at least `keep`; otherwise the last that leaves that much.
    pub fn cut(&self, free: u64, keep: u64) -> Option<ChainPosition> {
        let base = self.base.as_ref().map_or(0, |base| base.bytes);
        let mut may = self.marks.iter().filter(|mark| self.newest.bytes.saturating_sub(mark.bytes) >= keep);
        may.clone().find(|mark| mark.bytes - base >= free).or_else(|| may.next_back()).copied()
    }

    pub fn add(&mut self, checkpoint: AuditCheckpoint, at: ChainPosition) {
        self.base = Some(at);
        self.marks.retain(|mark| mark.seq > at.seq);
        self.checkpoints.push(checkpoint);
        if self.checkpoints.len() > MAX_CHECKPOINTS {
            self.checkpoints.remove(0);
        }
    }

    /// The size of the chain that is not trimmed, in bytes.
    pub fn bytes(&self) -> u64 {
        self.newest.bytes - self.base.as_ref().map_or(0, |base| base.bytes)
    }

    /// The newest position.
    pub fn last(&self) -> ChainPosition {
        self.old.last().copied().filter(|old| old.seq > self.newest.seq).unwrap_or(self.newest)
    }

    pub fn head(&self, mark: ChainPosition) -> AuditHead {
        AuditHead { chain: self.name.clone(), seq: mark.seq, hash: base::canonical::hex(&mark.hash) }
    }
}

/// All that is remembered.
#[derive(Default)]
pub(super) struct Book {
    /// The chain that advanced last is at the end.
    pub chains: Vec<Chain>,
    /// Each with whether the chain has a record of it.
    pub gaps: Vec<(AcceptedGap, bool)>,
    pub forged: u64,
}

impl Book {
    pub fn find(&mut self, chain: &str) -> Option<&mut Chain> {
        self.chains.iter_mut().find(|known| known.name == chain)
    }

    /// Gives `gap` up permanently: its chain no longer counts as missing.
    pub fn accept(&mut self, gap: AcceptedGap, noted: bool) {
        self.chains.retain(|known| known.name != gap.last.chain);
        if gap.last.chain.is_empty() {
            self.forged = 0;
        }
        self.gaps.push((gap, noted));
        if self.gaps.len() > MAX_GAPS {
            self.gaps.remove(0);
        }
    }
}
