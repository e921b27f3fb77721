//! Lines of the agent's socket, bounded in size and time.

use std::{io, time::Duration};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

/// Incremented for any change that an older half would misunderstand.
pub const PROTOCOL: u32 = 1;
/// Longest request, in bytes: the arguments of an ask (`access::question::ALL_BYTES`) are bounded well below it.
pub const MAX_LINE: usize = 128 * 1024;
/// Limit from the first byte of a line to its last, and for writing an answer.
pub(super) const LINE_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineRead {
    /// A whole line, in the buffer, without its line feed.
    Whole,
    /// Longer than the limit; skipped to its end.
    TooLong,
    /// The peer closed.
    End,
}

/// Reads one line of at most `max` bytes into `line`. Waits without limit for the first byte, then [`LINE_TIMEOUT`].
pub(super) async fn read_line<R>(reader: &mut R, line: &mut Vec<u8>, max: usize) -> io::Result<LineRead>
where
    R: AsyncBufRead + Unpin,
{
    line.clear();
    if reader.fill_buf().await?.is_empty() {
        return Ok(LineRead::End);
    }
    match tokio::time::timeout(LINE_TIMEOUT, rest(reader, line, max)).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the line did not end in time")),
    }
}

async fn rest<R: AsyncBufRead + Unpin>(reader: &mut R, line: &mut Vec<u8>, max: usize) -> io::Result<LineRead> {
    let mut too_long = false;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(LineRead::End);
        }
        let (part, used, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&chunk[..at], at + 1, true),
            None => (chunk, chunk.len(), false),
        };
        if !too_long && line.len() + part.len() <= max {
            line.extend_from_slice(part);
        } else {
            too_long = true;
            line.clear();
        }
        reader.consume(used);
        if ended {
            return Ok(if too_long { LineRead::TooLong } else { LineRead::Whole });
        }
    }
}

/// Writes one value as one line.
pub(super) async fn write_line<W, V>(writer: &mut W, value: &V) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
    V: serde::Serialize,
{
    write_bytes(writer, serde_json::to_vec(value)?).await
}

/// Writes a line that is JSON already.
///
/// # Errors
/// As [`write_line`].
pub(super) async fn write_bytes<W: AsyncWrite + Unpin>(writer: &mut W, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    match tokio::time::timeout(LINE_TIMEOUT, writer.write_all(&line)).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")),
    }
}
