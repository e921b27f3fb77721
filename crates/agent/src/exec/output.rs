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

    /// As text: invalid UTF-8 becomes U+FFFD, and a note replaces the bytes that were dropped, with those of characters
    /// that the cut has split.
    pub fn text(&self) -> String {
        match self.cut() {
            // Joined before decoding: the seam may split a character.
            0 => String::from_utf8_lossy(&[&self.head[..], &self.tail].concat()).into_owned(),
            cut => {
                let (end, start) = (unfinished(&self.head), rest_of_one(&self.tail));
                let head = String::from_utf8_lossy(&self.head[..self.head.len() - end]);
                let tail = String::from_utf8_lossy(&self.tail[start..]);
                format!("{head}\n[{} bytes left out]\n{tail}", cut + (end + start) as u64)
            }
        }
    }
}

/// How many bytes at the end begin a character of UTF-8 that is not complete: 0 to 3.
fn unfinished(bytes: &[u8]) -> usize {
    for (back, byte) in bytes.iter().rev().take(3).enumerate() {
        let whole = match byte {
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => return 0,
        };
        return if back + 1 < whole { back + 1 } else { 0 };
    }
    0
}

/// How many bytes at the start continue a character that began before: 0 to 3.
fn rest_of_one(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xBF)).count()
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

/// A piece of output. A character of UTF-8 is never divided between two; bytes that are none become U+FFFD.
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
    /// The start of a character of each stream, which waits for its rest: at most 3 bytes.
    started: [Vec<u8>; 2],
    ended: bool,
}

impl State {
    fn add(&mut self, stream: OutputStream, bytes: &[u8]) {
        let offset = &mut self.offsets[stream as usize];
        let chunk = Chunk { stream, offset: *offset, text: String::from_utf8_lossy(bytes).into_owned() };
        *offset += bytes.len() as u64;
        self.bytes += chunk.text.len();
        self.chunks.push_back(chunk);
    }
}

impl LiveOutput {
    pub fn push(&self, stream: OutputStream, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::take(&mut state.started[stream as usize]);
        all.extend_from_slice(bytes);
        let mut rest = &all[..all.len() - unfinished(&all)];
        state.started[stream as usize] = all[rest.len()..].to_vec();
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(CHUNK)];
            let piece = if piece.len() < rest.len() { &piece[..piece.len() - unfinished(piece)] } else { piece };
            state.add(stream, piece);
            rest = &rest[piece.len()..];
        }
        while state.bytes > WAITING {
            let Some(lost) = state.chunks.pop_front() else { break };
            state.bytes -= lost.text.len();
        }
        self.news.notify_one();
    }

    /// Marks the end of the output. A character that has begun gets no rest any more.
    pub fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let started = std::mem::take(&mut state.started[stream as usize]);
            if !started.is_empty() {
                state.add(stream, &started);
            }
        }
        state.ended = true;
        drop(state);
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
    #[tokio::test]
    async fn a_letter_waits_for_its_rest_wherever_the_output_is_divided() {
        let text = "Müsik ä € 😀 日本".repeat(3);
        for size in 1..text.len() {
            let live = LiveOutput::default();
            for piece in text.as_bytes().chunks(size) {
                live.push(OutputStream::Stdout, piece);
                // The other stream's letters are not mixed with these.
                live.push(OutputStream::Stderr, "ü".as_bytes().get(..1).unwrap());
                live.push(OutputStream::Stderr, "ü".as_bytes().get(1..).unwrap());
            }
            live.end();
            let (chunks, _) = live.next().await;
            let mut offset = 0;
            let mut whole = String::new();
            for chunk in chunks.iter().filter(|chunk| chunk.stream == OutputStream::Stdout) {
                assert_eq!(chunk.offset, offset, "pieces of {size}");
                offset += chunk.text.len() as u64;
                whole += &chunk.text;
            }
            assert_eq!(whole, text, "pieces of {size}");
            assert!(chunks.iter().all(|chunk| !chunk.text.contains('\u{fffd}')), "pieces of {size}");
        }
    }

    #[tokio::test]
    async fn what_is_no_letter_is_not_held_back_and_a_long_piece_is_divided_between_letters() {
        let live = LiveOutput::default();
        live.push(OutputStream::Stdout, b"a\xff");
        live.push(OutputStream::Stdout, b"b\xe2\x82");
        let (chunks, _) = live.next().await;
        let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        assert_eq!(texts, ["a\u{fffd}", "b"]);
        live.end();
        let (chunks, ended) = live.next().await;
        assert!(ended && chunks.len() == 1 && chunks[0].offset == 3, "{chunks:?}");
        assert_eq!(chunks[0].text, "\u{fffd}");
        let live = LiveOutput::default();
        let long = format!("a{}", "€".repeat(CHUNK));
        live.push(OutputStream::Stdout, long.as_bytes());
        let (chunks, _) = live.next().await;
        assert!(chunks.len() > 2 && chunks.iter().all(|chunk| chunk.text.len() <= CHUNK));
        assert_eq!(chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>(), long);
    }

    #[test]
    fn a_cut_divides_no_letter() {
        for limit in 8..24 {
            let mut kept = HeadAndTail::new(limit);
            let all = "aä€😀".repeat(10);
            kept.push(all.as_bytes());
            let text = kept.finish().text();
            assert!(!text.contains('\u{fffd}'), "{limit}: {text}");
            let (head, rest) = text.split_once("\n[").unwrap();
            let (count, tail) = rest.split_once(" bytes left out]\n").unwrap();
            assert_eq!(head.len() + tail.len() + count.parse::<usize>().unwrap(), all.len(), "{limit}");
        }
    }
}
