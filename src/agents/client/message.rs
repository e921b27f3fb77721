//! Messages of an MCP server, bounded before they take memory: as their bytes arrive, and before they are parsed.

use base::error::{ErrorCode, ToolError};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, io};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Maximum values in one answer: parsed, each takes some hundred bytes, and two bytes can be one (`0,`).
const VALUES: usize = 100_000;
/// A buffer that grew beyond this is given back.
const KEPT: usize = 64 << 10;

/// A message, of which nothing is parsed that nobody waits for.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

impl Message<'_> {
    /// The number of our request that it answers. Some servers make a text of it.
    pub fn number(&self) -> Option<u64> {
        self.id?.get().trim_matches('"').parse().ok()
    }
}

/// The lines of a server.
pub struct MessageReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Maximum bytes of any line.
    most: usize,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    pub fn new(reader: R, most: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), most }
    }

    /// The next line that is not blank and has no more bytes than `wanted`, which is asked while it arrives: a call may begin
    /// meanwhile. A longer one is dropped as it comes: it may be the late answer of a call that nobody waits for any more. `None` at
    /// the end.
    ///
    /// # Errors
    /// What is wrong with a line that is longer than any may be.
    pub async fn next(&mut self, wanted: impl Fn() -> usize) -> Result<Option<&[u8]>, String> {
        loop {
            self.line.clear();
            self.line.shrink_to(KEPT);
            match self.read(&wanted).await {
                Ok(Some(0)) => {}
                Ok(Some(_)) => return Ok(Some(&self.line)),
                Ok(None) | Err(ReadFault::Lost) => return Ok(None),
                Err(ReadFault::TooLong) => return Err(format!("it sent a message of more than {} bytes", self.most)),
            }
        }
    }

    /// The length of the line, without the blanks at its end; 0 for one that is dropped.
    async fn read(&mut self, wanted: &impl Fn() -> usize) -> Result<Option<usize>, ReadFault> {
        let (mut length, mut dropped) = (0, false);
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let used = part.len() + usize::from(end.is_some());
            length += part.len();
            if length > self.most {
                return Err(ReadFault::TooLong);
            }
            dropped |= length > wanted();
            if dropped {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(used);
            if end.is_some() {
                self.line.truncate(self.line.trim_ascii_end().len());
                return Ok(Some(self.line.len()));
            }
        }
    }
}

enum ReadFault {
    TooLong,
    Lost,
}

impl From<io::Error> for ReadFault {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

/// What an agent answered.
///
/// # Errors
/// `content_too_large` for more than [`VALUES`] values.
pub fn parsed(name: &str, raw: &RawValue) -> Result<Value, ToolError> {
    if values(raw.get()) > VALUES {
        return Err(ToolError::new(
            ErrorCode::ContentTooLarge,
            format!("the agent {name} answered more than {VALUES} values"),
        )
        .with("limit_values", VALUES)
        .hint("ask it for less"));
    }
    serde_json::from_str(raw.get()).map_err(|error| ToolError::internal(format!("JSON that was read is none: {error}")))
}

/// How many values a text of JSON has, or some more: what begins or divides lists and objects, outside of texts.
fn values(json: &str) -> usize {
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str, wanted: usize, most: usize) -> Vec<Result<String, String>> {
        let (mut reader, mut lines) = (MessageReader::new(text.as_bytes(), most), Vec::new());
        loop {
            match reader.next(|| wanted).await {
                Ok(Some(line)) => lines.push(Ok(String::from_utf8(line.to_vec()).unwrap())),
                Ok(None) => return lines,
                Err(why) => {
                    lines.push(Err(why));
                    return lines;
                }
            }
        }
    }

    #[tokio::test]
    async fn lines_are_whole_blank_and_unwanted_ones_nothing_and_the_longest_refused() {
        let ok = |line: &str| Ok(line.to_owned());
        assert_eq!(read("a\n\n \r\nbc\r\nhalf", 10, 10).await, [ok("a"), ok("bc")]);
        let long = "x".repeat(30_000);
        assert_eq!(read(&format!("{long}\n{long}\n"), 30_000, 30_000).await, [ok(&long), ok(&long)]);
        assert_eq!(read(&format!("a\n{long}\nb\n"), 29_999, 30_000).await, [ok("a"), ok("b")]);
        let wrong = Err("it sent a message of more than 29999 bytes".to_owned());
        assert_eq!(read(&format!("a\n{long}"), 10, 29_999).await, [ok("a"), wrong]);
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, count) in [("1", 1), ("[1,2]", 3), (r#"{"a":[1],"b,":"[,{\","}"#, 4), (r#""\\""#, 1)] {
            assert_eq!(values(json), count, "{json}");
        }
        let many = format!("[{}]", vec!["0"; VALUES].join(","));
        let raw: Box<RawValue> = serde_json::from_str(&many).unwrap();
        assert_eq!(parsed("x", &raw).unwrap_err().code, ErrorCode::ContentTooLarge);
        let text: Box<RawValue> = serde_json::from_str(&format!("\"{}\"", ",".repeat(2 * VALUES))).unwrap();
        parsed("x", &text).unwrap();
    }

    #[test]
    fn the_number_of_a_request_may_come_back_as_a_text() {
        for (id, number) in [("7", Some(7)), ("\"7\"", Some(7)), ("\"x\"", None), ("null", None), ("7.5", None)] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(serde_json::from_str::<Message<'_>>(&text).unwrap().number(), number, "{id}");
        }
    }
}
