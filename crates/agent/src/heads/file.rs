//! The agent's file of chains: one line per event, each authenticated by a key that the server never sees.
//!
//! Each line's authentication code covers the code of the line before it, so no line can be changed, moved or removed
//! from the middle. Lines of the previous version, which have independent codes, are still read.

use super::book::{Book, Chain, ChainPosition, Hash};
use base::canonical::{from_hex, hex};
use contract::audit::{AcceptedGap, AuditCheckpoint, AuditHead};
use ring::hmac;
use serde::{Deserialize, Serialize};

/// The first line of a file.
const KEEPER: &str = "keeper";
const CHAIN: &str = "chain";
const HEAD: &str = "head";
const OLD: &str = "old";
const CHECKPOINT: &str = "checkpoint";
const GAP: &str = "gap";
const NOTED: &str = "noted";
const FORGED: &str = "forged";

#[derive(Default, Serialize, Deserialize)]
#[serde(expecting = "struct Line")]
pub(super) struct HeadsLine {
    kind: String,
    ts_ms: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    chain: String,
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    seq: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hash: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
    /// Bytes of the chain so far, or a number of lines.
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    bytes: i64,
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    removed: i64,
}

/// As version 1.0 wrote them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldLine {
    chain: String,
    seq: i64,
    hash: String,
    ts_ms: i64,
    mac: String,
}

impl HeadsLine {
    pub fn keeper(ts_ms: i64) -> Self {
        Self { kind: KEEPER.into(), ts_ms, ..Self::default() }
    }

    pub fn chain(chain: &Chain) -> Self {
        let base = chain.base.unwrap_or(chain.newest);
        Self { text: chain.store.clone(), ..Self::at(CHAIN, chain, base, chain.began_ms) }
    }

    pub fn head(chain: &Chain, mark: ChainPosition) -> Self {
        Self::at(HEAD, chain, mark, chain.newest_ms)
    }

    fn at(kind: &str, chain: &Chain, mark: ChainPosition, ts_ms: i64) -> Self {
        Self {
            kind: kind.into(),
            ts_ms,
            chain: chain.name.clone(),
            seq: mark.seq,
            hash: hex(&mark.hash),
            bytes: i64::try_from(mark.bytes).unwrap_or(i64::MAX),
            ..Self::default()
        }
    }

    pub fn checkpoint(checkpoint: &AuditCheckpoint, bytes: u64) -> Self {
        Self {
            kind: CHECKPOINT.into(),
            ts_ms: checkpoint.ts_ms,
            chain: checkpoint.chain.clone(),
            seq: checkpoint.through_seq,
            hash: checkpoint.through_hash.clone(),
            text: checkpoint.why.clone(),
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            removed: checkpoint.removed,
        }
    }

    pub fn gap(gap: &AcceptedGap) -> Self {
        let AuditHead { chain, seq, hash } = gap.last.clone();
        Self { kind: GAP.into(), ts_ms: gap.ts_ms, chain, seq, hash, text: gap.by.clone(), ..Self::default() }
    }

    /// Marks a gap as recorded in the chain.
    pub fn noted(signature: &str, ts_ms: i64) -> Self {
        Self { kind: NOTED.into(), ts_ms, text: signature.into(), ..Self::default() }
    }

    fn mark(&self) -> Option<ChainPosition> {
        let bytes = u64::try_from(self.bytes).ok()?;
        Some(ChainPosition { seq: self.seq, hash: parse(&self.hash)?, bytes })
    }
}

/// 32 bytes of hexadecimal digits.
pub(super) fn parse(text: &str) -> Option<Hash> {
    from_hex(text)?.try_into().ok()
}

/// The authentication code of `parts`, as text.
pub(super) fn sign(key: &hmac::Key, parts: &[&str]) -> String {
    hex(hmac::sign(key, parts.join("\n").as_bytes()).as_ref())
}

/// Signs a checkpoint.
pub(super) fn signed(key: &hmac::Key, mut checkpoint: AuditCheckpoint) -> AuditCheckpoint {
    let AuditCheckpoint { chain, through_seq, through_hash, removed, why, ts_ms, .. } = &checkpoint;
    let numbers = [through_seq, removed, ts_ms].map(i64::to_string);
    checkpoint.signature = sign(key, &["checkpoint", chain, &numbers[0], through_hash, &numbers[1], why, &numbers[2]]);
    checkpoint
}

/// Signs for a gap.
pub(super) fn accepted(key: &hmac::Key, last: AuditHead, by: &str, ts_ms: i64) -> AcceptedGap {
    let signature = sign(key, &["gap", &last.chain, &last.seq.to_string(), &last.hash, by, &ts_ms.to_string()]);
    AcceptedGap { last, by: by.to_owned(), ts_ms, signature }
}

/// The code of the previous line, which the next one covers.
#[derive(Clone, Default)]
pub(super) struct Tie(String);

const MAC: &str = ",\"mac\":\"";

impl Tie {
    /// `line` as it is written to the file.
    pub fn write(&mut self, key: &hmac::Key, line: &HeadsLine) -> String {
        // Infallible: only strings and numbers.
        let json = serde_json::to_string(line).expect("a line is plain data");
        self.0 = sign(key, &[&self.0, &json]);
        format!("{}{MAC}{}\"}}", &json[..json.len() - 1], self.0)
    }

    /// Parses the line in `text`; `None` for something else, `Err` for a line that was changed or is out of order.
    fn read(&mut self, key: &hmac::Key, text: &str) -> Option<Result<HeadsLine, ()>> {
        let (front, mac) = text.strip_suffix("\"}")?.rsplit_once(MAC)?;
        let json = format!("{front}}}");
        let line: HeadsLine = serde_json::from_str(&json).ok()?;
        let fits =
            from_hex(mac).is_some_and(|mac| hmac::verify(key, format!("{}\n{json}", self.0).as_bytes(), &mac).is_ok());
        self.0 = mac.to_owned();
        Some(if fits { Ok(line) } else { Err(()) })
    }
}

/// The content of a file.
pub(super) struct HeadsFile {
    pub book: Book,
    pub tie: Tie,
    /// It has lines of the previous version, or none at all.
    pub old: bool,
}

/// Parses `lines`. With `simulated`, old lines may come from any user's server, not only this machine's.
pub(super) fn read(key: &hmac::Key, lines: &[String], step: u64, simulated: bool) -> HeadsFile {
    let mut content = HeadsFile { book: Book::default(), tie: Tie::default(), old: false };
    let (mut begun, mut half) = (false, false);
    for text in lines {
        match content.tie.read(key, text) {
            Some(Ok(line)) => {
                begun |= line.kind == KEEPER;
                learn(&mut content.book, key, line, step);
            }
            Some(Err(())) => content.book.forged += 1,
            None => match serde_json::from_str::<OldLine>(text) {
                Ok(line) => {
                    content.old = true;
                    read_old(&mut content.book, key, line, simulated);
                }
                // Half a line: a power cut.
                Err(_) => half = true,
            },
        }
    }
    // Every file begins with a line of ours; otherwise its beginning was removed.
    if !(begun || content.old || half && lines.len() == 1) {
        content.book.forged += 1;
        content.old = true;
    }
    content
}

fn read_old(book: &mut Book, key: &hmac::Key, line: OldLine, simulated: bool) {
    let message = format!("{}\n{}\n{}\n{}", line.chain, line.seq, line.hash, line.ts_ms);
    let fits = from_hex(&line.mac).is_some_and(|mac| hmac::verify(key, message.as_bytes(), &mac).is_ok());
    let (true, Some(hash)) = (fits, parse(&line.hash)) else {
        book.forged += 1;
        return;
    };
    let store = if simulated { "of the version before" } else { "" };
    let at = book.chains.iter().position(|known| known.name == line.chain).unwrap_or_else(|| {
        book.chains.push(Chain::new(line.chain.clone(), store.to_owned(), line.ts_ms));
        book.chains.len() - 1
    });
    let chain = &mut book.chains[at];
    keep_old(chain, ChainPosition { seq: line.seq, hash, bytes: 0 }, line.ts_ms);
}

fn keep_old(chain: &mut Chain, mark: ChainPosition, ts_ms: i64) {
    /// As many as the previous version handed out.
    const MAX_OLD: usize = 256;
    if mark.seq > chain.newest.seq {
        chain.old.retain(|old| old.seq < mark.seq);
        chain.old.push(mark);
        chain.newest_ms = ts_ms;
        if chain.old.len() > MAX_OLD {
            chain.old.remove(0);
        }
    }
}

fn learn(book: &mut Book, key: &hmac::Key, line: HeadsLine, step: u64) {
    match line.kind.as_str() {
        FORGED => book.forged += u64::try_from(line.bytes).unwrap_or(0),
        GAP => {
            let last = AuditHead { chain: line.chain, seq: line.seq, hash: line.hash };
            book.accept(accepted(key, last, &line.text, line.ts_ms), false);
        }
        NOTED => {
            book.gaps.iter_mut().filter(|(gap, _)| gap.signature == line.text).for_each(|(_, noted)| *noted = true)
        }
        CHAIN => {
            let Some(mark) = line.mark() else { return };
            let chain = match book.chains.iter().position(|known| known.name == line.chain) {
                Some(at) => &mut book.chains[at],
                None => {
                    book.chains.push(Chain::new(line.chain, String::new(), line.ts_ms));
                    book.chains.last_mut().expect("just pushed")
                }
            };
            chain.store = line.text;
            chain.began_ms = line.ts_ms;
            chain.base = Some(mark);
            chain.newest = mark;
        }
        HEAD => {
            let (Some(mark), Some(chain)) = (line.mark(), book.find(&line.chain)) else { return };
            chain.old.retain(|old| old.seq > mark.seq);
            chain.advance(mark, step);
            chain.newest_ms = line.ts_ms;
            chain.written = true;
            chain.unwritten.clear();
        }
        OLD => {
            let Some(mark) = line.mark() else { return };
            if book.find(&line.chain).is_none() {
                book.chains.push(Chain::new(line.chain.clone(), line.text, line.ts_ms));
            }
            if let Some(chain) = book.find(&line.chain) {
                keep_old(chain, mark, line.ts_ms);
            }
        }
        CHECKPOINT => {
            let (Some(mark), Some(chain)) = (line.mark(), book.find(&line.chain)) else { return };
            let checkpoint = AuditCheckpoint {
                chain: line.chain,
                through_seq: line.seq,
                through_hash: line.hash,
                removed: line.removed,
                why: line.text,
                ts_ms: line.ts_ms,
                signature: String::new(),
            };
            chain.add(signed(key, checkpoint), mark);
        }
        _ => {}
    }
}

/// `book` as the lines of a new file.
pub(super) fn written(book: &Book, ts_ms: i64) -> Vec<HeadsLine> {
    let mut lines = vec![HeadsLine::keeper(ts_ms)];
    if book.forged > 0 {
        let bytes = i64::try_from(book.forged).unwrap_or(i64::MAX);
        lines.push(HeadsLine { kind: FORGED.into(), ts_ms, bytes, ..HeadsLine::default() });
    }
    // Gaps first: they remove the chain of their name, and one that began again comes after.
    for (gap, noted) in &book.gaps {
        lines.push(HeadsLine::gap(gap));
        if *noted {
            lines.push(HeadsLine::noted(&gap.signature, ts_ms));
        }
    }
    for chain in &book.chains {
        if let Some(base) = chain.base {
            lines.push(HeadsLine::chain(chain));
            lines.extend(chain.checkpoints.iter().map(|checkpoint| HeadsLine::checkpoint(checkpoint, base.bytes)));
            let marks = chain.marks.iter().chain([&chain.newest]).filter(|mark| mark.seq > base.seq);
            lines.extend(marks.map(|mark| HeadsLine::head(chain, *mark)));
        }
        let old = chain
            .old
            .iter()
            .map(|mark| HeadsLine { text: chain.store.clone(), ..HeadsLine::at(OLD, chain, *mark, chain.newest_ms) });
        lines.extend(old);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_field_of_another_release_breaks_no_chain() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"a key");
        let mut tie = Tie::default();
        let first = tie.write(&key, &HeadsLine::keeper(1));
        // As a newer release would write it, with the code over its own text.
        let json = r#"{"kind":"noted","ts_ms":2,"text":"x","origin":"a newer release's"}"#;
        tie.0 = sign(&key, &[&tie.0, json]);
        let newer = format!("{}{MAC}{}\"}}", &json[..json.len() - 1], tie.0);
        let last = tie.write(&key, &HeadsLine::noted("y", 3));
        let lines = [first, newer, last];
        let content = read(&key, &lines, 1, false);
        assert_eq!((content.book.forged, content.old), (0, false));
        let changed = [lines[0].clone(), lines[1].replace("newer", "older"), lines[2].clone()];
        assert_eq!(read(&key, &changed, 1, false).book.forged, 1, "what was changed is still seen");
    }
}
