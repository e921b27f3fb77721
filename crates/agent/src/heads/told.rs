//! What the agent reports of the chains that it knows.

use super::{
    KEY, LINES,
    book::{Book, ChainPosition},
    file, unknown,
};
use crate::files::{self, RotatedFile};
use base::{canonical::hex, error::ToolError};
use contract::audit::{AuditCheckpoint, KnownChain, KnownHeads, VerifiedPosition};
use ring::hmac;
use std::path::Path;

/// Reads what is known from an agent's `folder` while no agent runs. Creates nothing.
///
/// # Errors
/// `unavailable` when the files cannot be read, `not_found` when there are none.
pub fn read(folder: &Path) -> Result<KnownHeads, ToolError> {
    let bytes = files::read(&folder.join(KEY))?
        .ok_or_else(|| ToolError::not_found(format!("no agent has kept anything in {}", folder.display())))?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
    let book = file::read(&key, &RotatedFile::new(folder.join(LINES), u64::MAX).read()?, u64::MAX, false).book;
    Ok(known(&book, book.forged))
}

/// The reported form of a book.
pub(super) fn known(book: &Book, forged: u64) -> KnownHeads {
    let mut known = KnownHeads { forged, ..KnownHeads::default() };
    for chain in &book.chains {
        let newest = [chain.newest].into_iter().filter(|newest| newest.seq > 0 && chain.base.is_some());
        let marks = chain.marks.iter().copied().chain(newest).chain(chain.old.iter().copied());
        known.heads.extend(marks.map(|mark| chain.head(mark)));
        let first =
            chain.base.filter(|base| base.seq > 0 && chain.checkpoints.is_empty()).map(|base: ChainPosition| {
                AuditCheckpoint {
                    chain: chain.name.clone(),
                    through_seq: base.seq,
                    through_hash: hex(&base.hash),
                    removed: base.seq,
                    why: "gone before the agent saw the chain".into(),
                    ts_ms: chain.began_ms,
                    signature: String::new(),
                }
            });
        known.chains.push(KnownChain {
            chain: chain.name.clone(),
            store: chain.store.clone(),
            last_ms: chain.newest_ms,
            proven: chain.base.is_some(),
            beginnings: first.into_iter().chain(chain.checkpoints.iter().cloned()).collect(),
        });
    }
    known
}

/// The answer to the server after each step.
pub(super) fn answer(book: &Book, chain: &str) -> Result<VerifiedPosition, ToolError> {
    let this = book.chains.iter().find(|known| known.name == chain).ok_or_else(|| unknown(chain))?;
    let missing = book.chains.iter().filter(|other| other.store == this.store && other.name != this.name);
    let head = this.head(this.newest);
    Ok(VerifiedPosition {
        seq: head.seq,
        hash: head.hash,
        part: this.part(),
        missing: missing.map(|other| other.head(other.last())).collect(),
        accepted: book.gaps.iter().filter(|(_, noted)| !noted).map(|(gap, _)| gap.clone()).collect(),
    })
}
