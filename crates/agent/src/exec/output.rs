//! What a command writes: the beginning and the end are kept, what comes by can be listened to.

use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use tokio::sync::Notify;

/// The first and the last of a stream of bytes.
#[derive(Debug)]
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    limit: usize,
    total: u64,
}

impl Kept {
    /// Keeps at most `limit` bytes: half of it from the start, half from the end.
    pub fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), limit, total: 0 }
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (half, rest) = (self.limit / 2, self.limit - self.limit / 2);
        let room = half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        // Of a long piece only the end can stay.
        let last = &bytes[bytes.len().saturating_sub(rest)..];
        let over = (self.tail.len() + last.len()).saturating_sub(rest);
        self.tail.drain(..over);
        self.tail.extend(last);
    }

    /// What was kept, and how much was not.
    pub fn finish(self) -> Output {
        Output { head: self.head, tail: self.tail.into(), total: self.total }
    }
}

/// One output of a command that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    #[serde(with = "coded")]
    pub head: Vec<u8>,
    #[serde(with = "coded")]
    pub tail: Vec<u8>,
    /// Bytes written.
    pub total: u64,
}

impl Output {
    /// Bytes that were not kept, between head and tail.
    pub fn cut(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// As text: what is no UTF-8 becomes U+FFFD, and what was cut out is said in its place.
    pub fn text(&self) -> String {
        match self.cut() {
            // Joined before it is read as text: the seam may go through a character.
            0 => String::from_utf8_lossy(&[&self.head[..], &self.tail].concat()).into_owned(),
            cut => {
                let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
                format!("{head}\n[{cut} bytes left out]\n{tail}")
            }
        }
    }
}

/// Bytes as text on the wire: as a JSON string they could take six times their room.
mod coded {
    use base::base64url;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64url::encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        base64url::decode(&String::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("expected base64url"))
    }
}

/// Which output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A piece of output on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    pub stream: Stream,
    /// Where it begins in its stream, in bytes: a gap is what a listener was too slow for.
    pub offset: u64,
    pub text: String,
}

/// Longest chunk, in bytes; escaped as JSON it is still far from the protocol's longest answer.
const CHUNK: usize = 8 * 1024;
/// What may wait for a listener; older pieces go first.
const WAITING: usize = 64 * 1024;

/// Output as it comes, for one listener.
#[derive(Debug, Default)]
pub struct Live {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    offsets: [u64; 2],
    ended: bool,
}

impl Live {
    pub fn push(&self, stream: Stream, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.chunks(CHUNK) {
            let offset = &mut state.offsets[stream as usize];
            let chunk = Chunk { stream, offset: *offset, text: String::from_utf8_lossy(piece).into_owned() };
            *offset += piece.len() as u64;
            state.bytes += chunk.text.len();
            state.chunks.push_back(chunk);
        }
        while state.bytes > WAITING {
            let Some(lost) = state.chunks.pop_front() else { break };
            state.bytes -= lost.text.len();
        }
        self.news.notify_one();
    }

    /// No more will come.
    pub fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.news.notify_one();
    }

    /// What has come since the last call, at most 64 KiB, and whether that was all. Waits for one or the other.
    pub async fn next(&self) -> (Vec<Chunk>, bool) {
        loop {
            {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if !state.chunks.is_empty() || state.ended {
                    state.bytes = 0;
                    return (state.chunks.drain(..).collect(), state.ended);
                }
            }
            self.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept_and_the_cut_is_said() {
        for piece in [1, 3, 7, 100] {
            let mut kept = Kept::new(8);
            let all: Vec<u8> = (b'a'..=b'z').collect();
            all.chunks(piece).for_each(|bytes| kept.push(bytes));
            let output = kept.finish();
            assert_eq!((output.total, output.cut()), (26, 18), "pieces of {piece}");
            assert_eq!(output.text(), "abcd\n[18 bytes left out]\nwxyz");
        }
    }

    #[test]
    fn what_fits_is_whole_even_where_the_seam_cuts_a_character() {
        let mut kept = Kept::new(6);
        kept.push("aaä".as_bytes());
        kept.push("ö".as_bytes());
        assert_eq!(kept.finish().text(), "aaäö");
    }

    #[tokio::test]
    async fn a_slow_listener_sees_the_gap() {
        let live = Live::default();
        for _ in 0..10 {
            live.push(Stream::Stdout, &[b'x'; CHUNK]);
        }
        live.end();
        let (chunks, ended) = live.next().await;
        assert!(ended && chunks[0].offset > 0 && chunks.len() <= WAITING / CHUNK);
    }
}
