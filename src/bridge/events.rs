//! Server-sent events (the HTML standard, 9.2), as far as MCP uses them: the data of each event, and the id for
//! resuming.

/// Longest event, in bytes: the largest configurable answer of a server, plus its envelope.
pub const LONGEST: usize = 70 * 1024 * 1024;

/// Parses events from bytes, however they are split into chunks.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last `id`, for `Last-Event-ID`.
    pub last_id: Option<String>,
}

/// An event exceeded [`LONGEST`].
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// A stream that resumes after this event.
    pub fn after(last_id: Option<String>) -> Self {
        Self { last_id, ..Self::default() }
    }

    /// Takes bytes; returns the data of every completed event.
    ///
    /// # Errors
    /// [`TooLong`]; the stream cannot be used any more.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut complete = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.data.len() + part.len() > LONGEST {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                complete.extend(self.end_of(line.trim_ascii_end()));
            }
        }
        Ok(complete)
    }

    fn end_of(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            // An event without data only carries an id: servers send one first, so that a stream can be resumed.
            return (std::mem::take(&mut self.has_data) && !data.is_empty()).then_some(data);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            // A comment: keeps the connection alive.
            Some(0) => return None,
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" => self.last_id = std::str::from_utf8(value).ok().map(str::to_owned),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&str]) -> (Vec<String>, Option<String>) {
        let mut events = Events::default();
        let mut all = Vec::new();
        for chunk in chunks {
            all.extend(events.take(chunk.as_bytes()).unwrap().into_iter().map(|data| String::from_utf8(data).unwrap()));
        }
        (all, events.last_id)
    }

    #[test]
    fn events_are_found_wherever_the_chunks_fall() {
        let text =
            ": hello\r\nid: 7\r\ndata: {\"a\":1}\r\n\r\nevent: message\ndata:{\ndata: }\n\nid\ndata:\n\ndata: lost";
        let expected = vec!["{\"a\":1}".to_owned(), "{\n}".to_owned()];
        assert_eq!(read(&[text]), (expected.clone(), Some(String::new())));
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(read(&bytes), (expected, Some(String::new())));
    }
}
