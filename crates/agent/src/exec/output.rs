//! A command's output: the beginning and the end are kept, and a listener can follow it as it comes.

use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use tokio::sync::Notify;

/// The first and the last bytes of a stream.
#[derive(Debug)]
pub struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    limit: usize,
    total: u64,
}

impl HeadAndTail {
    /// Keeps at most `limit` bytes: half from the start, half from the end.
    pub fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), limit, total: 0 }
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (half, rest) = (self.limit / 2, self.limit - self.limit / 2);
        let room = half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        // Of a piece longer than the tail only the end is kept.
        let last = &bytes[bytes.len().saturating_sub(rest)..];
        let over = (self.tail.len() + last.len()).saturating_sub(rest);
        self.tail.drain(..over);
        self.tail.extend(last);
    }

    /// The kept bytes, and the number of those dropped.
    pub fn finish(self) -> CapturedOutput {
        CapturedOutput { head: self.head, tail: self.tail.into(), total: self.total }
    }
}

/// The output of a command that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Output")]
pub struct CapturedOutput {
    #[serde(with = "coded")]
    pub head: Vec<u8>,
    #[serde(with = "coded")]
    pub tail: Vec<u8>,
    /// Bytes written.
    pub total: u64,
}

impl CapturedOutput {
    /// Bytes dropped between head and tail.
    pub fn cut(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// As text: invalid UTF-8 becomes U+FFFD, and a note replaces the bytes that were dropped.
    pub fn text(&self) -> String {
        match self.cut() {
            // Joined before decoding: the seam may split a character.
            0 => String::from_utf8_lossy(&[&self.head[..], &self.tail].concat()).into_owned(),
            cut => {
                let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
                format!("{head}\n[{cut} bytes left out]\n{tail}")
            }
        }
    }
}

/// Bytes on the wire as base64url: as a JSON string they could take six times their size.
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

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

impl OutputStream {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    pub stream: OutputStream,
    /// Its offset in its stream, in bytes. A gap is output that the listener was too slow for.
    pub offset: u64,
    pub text: String,
}

/// Longest chunk, in bytes; escaped as JSON it is still far below the protocol's longest answer.
const CHUNK: usize = 8 * 1024;
/// Bytes buffered for a listener; the oldest pieces are dropped first.
const WAITING: usize = 64 * 1024;

/// Live output for one listener.
#[derive(Debug, Default)]
pub struct LiveOutput {
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

impl LiveOutput {
    pub fn push(&self, stream: OutputStream, bytes: &[u8]) {
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

    /// Marks the end of the output.
    pub fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.news.notify_one();
    }

    /// The output since the last call, at most 64 KiB, and whether it is complete. Waits for either.
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
            let mut kept = HeadAndTail::new(8);
            let all: Vec<u8> = (b'a'..=b'z').collect();
            all.chunks(piece).for_each(|bytes| kept.push(bytes));
            let output = kept.finish();
            assert_eq!((output.total, output.cut()), (26, 18), "pieces of {piece}");
            assert_eq!(output.text(), "abcd\n[18 bytes left out]\nwxyz");
        }
    }

    #[test]
    fn what_fits_is_whole_even_where_the_seam_cuts_a_character() {
        let mut kept = HeadAndTail::new(6);
        kept.push("aaä".as_bytes());
        kept.push("ö".as_bytes());
        assert_eq!(kept.finish().text(), "aaäö");
    }

    #[tokio::test]
    async fn a_slow_listener_sees_the_gap() {
        let live = LiveOutput::default();
        for _ in 0..10 {
            live.push(OutputStream::Stdout, &[b'x'; CHUNK]);
        }
        live.end();
        let (chunks, ended) = live.next().await;
        assert!(ended && chunks[0].offset > 0 && chunks.len() <= WAITING / CHUNK);
    }
}
