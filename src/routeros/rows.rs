//! The rows of a listing, taken apart as its bytes arrive: a table of any length needs the memory of one row, and of what is kept of it.

use serde_json::Value;
use std::collections::VecDeque;

/// The longest row, in bytes. The longest value of RouterOS is a script, with 64 KiB.
const LONGEST_ROW: usize = 1 << 20;
/// The longest answer that is no list, in bytes.
const LONGEST_OTHER: usize = 8 << 20;
/// Rows that are kept at most, their values, and the bytes of their names and texts. 30,000 routes of ten values took 55 MB, so this is some
/// 90 MB at the worst.
const MOST_KEPT: usize = 50_000;
const MOST_KEPT_VALUES: usize = 500_000;
const MOST_KEPT_BYTES: usize = 8 << 20;

/// JSON, in which a name that some client of the router chose may be no UTF-8: such bytes are shown as U+FFFD.
pub(super) fn parsed(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok().or_else(|| serde_json::from_str(&String::from_utf8_lossy(bytes)).ok())
}

/// Why an answer is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFault {
    /// It is no JSON, or ends in the middle.
    NoJson,
    /// A row, or an answer that is no list, is longer than is read.
    TooLong,
}

/// Where the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the answer.
    Start,
    /// Behind `[`.
    First,
    /// Behind a comma.
    Next,
    /// In a row.
    Row,
    /// Behind a row.
    Behind,
    /// Behind `]`.
    End,
    /// In an answer that is no list.
    Other,
}

/// Takes a JSON array of objects apart, or keeps an answer that is none.
pub(super) struct RowReader {
    place: Place,
    /// Of the row that is read, or of the whole answer that is no list.
    bytes: Vec<u8>,
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl RowReader {
    pub fn new() -> Self {
        Self { place: Place::Start, bytes: Vec::new(), depth: 0, is_text: false, is_escaped: false }
    }

    /// The next row that ends in `chunk`, of which what was read is taken away; `None` when all of it was read.
    ///
    /// # Errors
    /// For what is no list of objects, and for a row that is too long.
    pub fn next(&mut self, chunk: &mut &[u8]) -> Result<Option<Value>, RowFault> {
        while let Some((byte, rest)) = chunk.split_first() {
            match (self.place, byte) {
                (Place::Other, _) => {
                    self.keep(chunk, LONGEST_OTHER)?;
                    *chunk = &[];
                }
                (Place::Row, _) => {
                    let (length, is_whole) = self.rest_of_row(chunk);
                    self.keep(&chunk[..length], LONGEST_ROW)?;
                    *chunk = &chunk[length..];
                    if is_whole {
                        self.place = Place::Behind;
                        let row = parsed(&self.bytes).ok_or(RowFault::NoJson)?;
                        self.bytes.clear();
                        return Ok(Some(row));
                    }
                }
                (_, b' ' | b'\t' | b'\r' | b'\n') => *chunk = rest,
                (Place::Start, b'[') => (self.place, *chunk) = (Place::First, rest),
                (Place::Start, _) => self.place = Place::Other,
                (Place::First | Place::Next, b'{') => self.place = Place::Row,
                (Place::Behind, b',') => (self.place, *chunk) = (Place::Next, rest),
                (Place::First | Place::Behind, b']') => (self.place, *chunk) = (Place::End, rest),
                _ => return Err(RowFault::NoJson),
            }
        }
        Ok(None)
    }

    /// The end of the answer: `None` behind a list, otherwise the answer; null for one without a byte.
    ///
    /// # Errors
    /// For an answer that ends in the middle, or is no JSON.
    pub fn end(self) -> Result<Option<Value>, RowFault> {
        match self.place {
            Place::End => Ok(None),
            Place::Start => Ok(Some(Value::Null)),
            Place::Other => parsed(&self.bytes).map(Some).ok_or(RowFault::NoJson),
            Place::First | Place::Next | Place::Row | Place::Behind => Err(RowFault::NoJson),
        }
    }

    fn keep(&mut self, bytes: &[u8], most: usize) -> Result<(), RowFault> {
        if self.bytes.len() + bytes.len() > most {
            return Err(RowFault::TooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// How many of these bytes are the row's, and whether it ends with them. A byte of another character is never one of those below.
    fn rest_of_row(&mut self, chunk: &[u8]) -> (usize, bool) {
        for (at, byte) in chunk.iter().enumerate() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_text => self.is_escaped = true,
                b'"' => self.is_text = !self.is_text,
                _ if self.is_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                _ => {}
            }
        }
        (chunk.len(), false)
    }
}

/// Rows that are kept, within bounds of memory: 50,000 rows with 500,000 values and 8 MiB of text.
#[derive(Debug, Default)]
pub struct KeptRows {
    rows: VecDeque<Value>,
    size: Size,
}

/// More rows, or more text, than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

impl KeptRows {
    /// # Errors
    /// Beyond the bounds. What was kept before stays.
    pub fn push(&mut self, row: Value) -> Result<(), TooMuch> {
        let (mut size, more) = (self.size, Size::of(&row));
        (size.values, size.bytes) = (size.values + more.values, size.bytes + more.bytes);
        if self.rows.len() == MOST_KEPT || size.values > MOST_KEPT_VALUES || size.bytes > MOST_KEPT_BYTES {
            return Err(TooMuch);
        }
        self.size = size;
        self.rows.push_back(row);
        Ok(())
    }

    /// Lets the first row go.
    pub fn drop_first(&mut self) {
        let less = self.rows.pop_front().as_ref().map(Size::of).unwrap_or_default();
        (self.size.values, self.size.bytes) = (self.size.values - less.values, self.size.bytes - less.bytes);
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn into_rows(self) -> Vec<Value> {
        self.rows.into()
    }
}

/// What takes memory in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// Those within others as well.
    values: usize,
    /// Of names and texts.
    bytes: usize,
}

impl Size {
    fn of(value: &Value) -> Self {
        let mut size = Self::default();
        size.add(value);
        size
    }

    fn add(&mut self, value: &Value) {
        self.values += 1;
        match value {
            Value::String(text) => self.bytes += text.len(),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                self.bytes += name.len();
                self.add(value);
            }),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is read when the answer comes in parts of this length: its rows, then its end.
    fn read(bytes: &[u8], length: usize) -> Result<(Vec<Value>, Option<Value>), RowFault> {
        let (mut reader, mut rows) = (RowReader::new(), Vec::new());
        for mut chunk in bytes.chunks(length) {
            while let Some(row) = reader.next(&mut chunk)? {
                rows.push(row);
            }
        }
        Ok((rows, reader.end()?))
    }

    #[test]
    fn rows_are_the_same_wherever_the_answer_is_cut_into_parts() {
        let rows = [
            json!({ ".id": "*1", "comment": "a \"quoted\" } ] , { text \\" }),
            json!({ "on-event": ":put [/system/identity/get name]; {}" }),
            json!({}),
            json!({ "list": [{ "a": ["]", "}"] }], "ä": "€\u{1F600}" }),
        ];
        for text in [json!(rows).to_string(), serde_json::to_string_pretty(&rows).unwrap() + "\r\n "] {
            for length in 1..=text.len() {
                let (read, end) = read(text.as_bytes(), length).unwrap();
                assert_eq!((&read[..], end), (&rows[..], None), "in parts of {length}");
            }
        }
        assert_eq!(read(b" [ ] ", 1).unwrap(), (vec![], None));
    }

    #[test]
    fn what_is_no_list_is_kept_whole_and_nothing_is_an_answer_too() {
        for (text, value) in
            [("{\"name\": \"attic\"}", json!({ "name": "attic" })), ("", Value::Null), ("{}", json!({}))]
        {
            for length in [1, 5, 100] {
                assert_eq!(read(text.as_bytes(), length).unwrap(), (vec![], Some(value.clone())), "{text}");
            }
        }
    }

    #[test]
    fn what_ends_early_or_is_no_json_is_told() {
        let whole = b"[{\"a\":\"1\"},{\"b\":\"2\"}]";
        for length in 1..whole.len() {
            assert_eq!(read(&whole[..length], 3), Err(RowFault::NoJson), "{length} bytes");
        }
        for bad in ["[1]", "[,{}]", "[{},]", "[{}{}]", "[{}]]", "[{}],", "[{\"a\"}]", "[[{}]]", "<html>", "nothing"] {
            assert_eq!(read(bad.as_bytes(), 2), Err(RowFault::NoJson), "{bad}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_hide_one_character() {
        let (rows, _) = read(b"[{\"host-name\":\"b\xF6ro\"},{\"host-name\":\"x\"}]", 4).unwrap();
        assert_eq!(rows, [json!({ "host-name": "b\u{FFFD}ro" }), json!({ "host-name": "x" })]);
    }

    #[test]
    fn a_row_and_what_is_kept_have_bounds() {
        let row = |length: usize| format!("[{{\"a\":\"{}\"}}]", "x".repeat(length));
        let around = "{\"a\":\"\"}".len();
        assert!(read(row(LONGEST_ROW - around).as_bytes(), 4096).is_ok());
        assert_eq!(read(row(LONGEST_ROW - around + 1).as_bytes(), 4096), Err(RowFault::TooLong));
        let other = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert!(read(other(LONGEST_OTHER).as_bytes(), 4096).is_ok());
        assert_eq!(read(other(LONGEST_OTHER + 1).as_bytes(), 4096), Err(RowFault::TooLong));

        let mut kept = KeptRows::default();
        for _ in 0..MOST_KEPT {
            kept.push(json!({})).unwrap();
        }
        assert_eq!((kept.push(json!({})), kept.len()), (Err(TooMuch), MOST_KEPT));
        let mut kept = KeptRows::default();
        kept.push(json!({ "a": "x".repeat(MOST_KEPT_BYTES - 1) })).unwrap();
        assert_eq!((kept.push(json!({ "a": "" })), kept.len()), (Err(TooMuch), 1));
        kept.drop_first();
        kept.push(json!({ "b": "" })).unwrap();
        assert_eq!(kept.into_rows(), [json!({ "b": "" })]);
        // Values within others count as well: the row, its list, and what is in it.
        let mut kept = KeptRows::default();
        let half = json!({ "a": vec![json!([]); MOST_KEPT_VALUES / 2 - 2] });
        kept.push(half.clone()).unwrap();
        kept.push(half).unwrap();
        assert_eq!((kept.push(json!({})), kept.len()), (Err(TooMuch), 2));
    }
}
