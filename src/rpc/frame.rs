//! Newline-delimited frames from a byte stream, in bounded memory (stdio and unix socket transports).

/// One frame of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line without its terminator; never empty.
    Line(Vec<u8>),
    /// A line longer than the limit. It was discarded; the next line is read as usual.
    TooLong,
}

/// Splits a byte stream at `\n`. Buffers at most `limit` bytes of an unfinished line.
#[derive(Debug)]
pub struct Framer {
    line: Vec<u8>,
    limit: usize,
    /// The current line exceeded the limit: the rest is dropped up to the next newline.
    overlong: bool,
}

/// A line buffer larger than this is freed after use, so that one large request does not occupy memory permanently.
const KEEP: usize = 64 * 1024;

impl Framer {
    /// `limit`: longest line accepted, in bytes, without its terminator.
    pub fn new(limit: usize) -> Self {
        Self { line: Vec::new(), limit, overlong: false }
    }

    /// Consumes bytes up to and including the next newline from the front of `bytes`. Returns a frame if one is
    /// complete; call again until `bytes` is empty.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<Frame> {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.append(part);
            *bytes = &bytes[end.map_or(bytes.len(), |at| at + 1)..];
            if end.is_some()
                && let Some(frame) = self.finish()
            {
                return Some(frame);
            }
        }
        None
    }

    /// The stream ended: returns the rest as a line.
    pub fn finish(&mut self) -> Option<Frame> {
        if std::mem::take(&mut self.overlong) {
            self.line = Vec::new();
            return Some(Frame::TooLong);
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        if self.line.iter().all(u8::is_ascii_whitespace) {
            self.line.clear();
            return None;
        }
        let line = if self.line.capacity() > KEEP { std::mem::take(&mut self.line) } else { self.line.clone() };
        self.line.clear();
        Some(Frame::Line(line))
    }

    fn append(&mut self, part: &[u8]) {
        if self.overlong || part.is_empty() {
            return;
        }
        // A carriage return before the newline is not part of the line: allow one more byte until it is known.
        if self.line.len() + part.len() > self.limit + 1
            || (self.line.len() + part.len() == self.limit + 1 && part.last() != Some(&b'\r'))
        {
            self.overlong = true;
            self.line = Vec::new();
            return;
        }
        self.line.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(limit: usize, chunks: &[&[u8]]) -> Vec<Frame> {
        let mut framer = Framer::new(limit);
        let mut out = Vec::new();
        for chunk in chunks {
            let mut rest = *chunk;
            while let Some(frame) = framer.take(&mut rest) {
                out.push(frame);
            }
        }
        out.extend(framer.finish());
        out
    }
    fn line(text: &str) -> Frame {
        Frame::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_split_wherever_the_chunks_fall() {
        assert_eq!(frames(9, &[b"ab", b"c\nd", b"ef\n"]), [line("abc"), line("def")]);
        assert_eq!(frames(9, &[b"one\r\ntwo"]), [line("one"), line("two")]);
        assert_eq!(frames(9, &[b"\n \r\n\n"]), []);
    }

    #[test]
    fn the_limit_is_exact_and_the_next_line_lives() {
        assert_eq!(frames(3, &[b"abc\nabcd\nxyz\n"]), [line("abc"), Frame::TooLong, line("xyz")]);
        assert_eq!(frames(3, &[b"abc\r\n"]), [line("abc")]);
        assert_eq!(frames(3, &[b"abc\r", b"\n"]), [line("abc")]);
        assert_eq!(frames(3, &[b"abc", b"\r", b"\n"]), [line("abc")]);
        assert_eq!(frames(3, &[b"ab", b"cd", b"efgh\nxyz\n"]), [Frame::TooLong, line("xyz")]);
        assert_eq!(frames(3, &[b"abc\rd\n"]), [Frame::TooLong]);
    }
}
