//! How long a record may be: whatever a caller chooses, it stays below `MAX_RECORD`.
//!
//! Sizes are those of the stored bytes. JSON writes a control character with six, so characters of the text say little.

use super::record::{MAX_NAME, MAX_WORD, ROW_OVERHEAD};
use base::canonical::Whole;
use serde_json::{Value, json};
use std::{borrow::Cow, io};

/// Most bytes of one record as it is stored: the JSON, the search columns, and SQLite's own.
const MAX_RECORD: usize = 8 * 1024;
/// Most bytes of one call's JSON, or of the calls of one row; the rest of `MAX_RECORD` is for its columns and its number.
pub const MAX_BODY: usize = 6900;
/// Arguments whose JSON is longer are replaced, whatever else stands in the record.
const MAX_ARGS: usize = 6000;
/// Most bytes of the beginning that is kept of replaced arguments, before they are escaped once more.
const HEAD: usize = 256;
/// Shorter arguments take no more room than what would stand in their place.
const SMALL: usize = 160;
/// Most digits of a record's number, with the key and the comma around it.
const NUMBER: usize = 28;

// The longest body with its number, beside the longest search columns (tool, principal, outcome).
const _: () = assert!(MAX_BODY + NUMBER + 2 * MAX_NAME + MAX_WORD + ROW_OVERHEAD <= MAX_RECORD);

/// `args`, redacted already, as they go into a record: themselves, or what says how long they were, what they hash to, and how
/// they begin. `whole` is of the arguments as they came.
pub fn fit(args: Value, whole: &Whole) -> Value {
    match beginning(&args, MAX_ARGS) {
        Ok(_) => args,
        Err(text) => left_out(whole, Some(&text)),
    }
}

/// Of a caller that has used up its share: no more than `args` that are short anyway.
pub fn compact(args: Value, sha256: &str) -> Value {
    match beginning(&args, SMALL) {
        Ok(_) => args,
        Err(_) if args.get(LEFT_OUT).is_some() => {
            let mut args = args;
            if let Some(said) = args[LEFT_OUT].as_object_mut() {
                said.remove("head");
            }
            args
        }
        Err(_) => {
            let bytes = args.to_string().len();
            left_out(&Whole { sha256: sha256.to_owned(), bytes }, None)
        }
    }
}

/// The one key of arguments that were replaced.
pub const LEFT_OUT: &str = "arguments_left_out";

/// What stands in the place of arguments that are too long.
pub fn left_out(whole: &Whole, text: Option<&str>) -> Value {
    let mut said = json!({ "bytes": whole.bytes, "sha256": cut(&whole.sha256, 64) });
    if let Some(text) = text {
        said["head"] = cut(text, HEAD).into();
    }
    json!({ LEFT_OUT: said })
}

/// The JSON of `value` when it has at most `most` bytes, else its beginning as the error. Stops there: the rest is not
/// written out.
fn beginning(value: &Value, most: usize) -> Result<String, String> {
    struct Bounded(Vec<u8>, usize);
    impl io::Write for Bounded {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.1 - self.0.len();
            self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room { Err(io::ErrorKind::WriteZero.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut out = Bounded(Vec::new(), most);
    let whole = serde_json::to_writer(&mut out, value).is_ok();
    let text = String::from_utf8_lossy(&out.0).into_owned();
    if whole { Ok(text) } else { Err(text) }
}

/// `text`, or as much of its beginning as takes `most` bytes in JSON, with a sign that it was cut.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    // Hardly any text is that long, and looking at each character costs.
    if text.len() <= most / 6 {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    for (at, char) in text.char_indices() {
        used += match char {
            '"' | '\\' => 2,
            '\u{0}'..='\u{1f}' => 6,
            other => other.len_utf8(),
        };
        if used > most {
            return Cow::Owned(format!("{}…", &text[..at]));
        }
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_what_it_takes_in_json() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("0123456789", 10), "0123456789");
        assert_eq!(cut("0123456789a", 10), "0123456789…");
        assert_eq!(cut("\u{1}\u{1}\u{1}", 12), "\u{1}\u{1}…");
        assert_eq!(cut("ääääää", 10), "äääää…");
        assert_eq!(cut("\"\"\"\"\"\"", 10), "\"\"\"\"\"…");
    }

    #[test]
    fn long_arguments_become_length_hash_and_head() {
        let args = json!({ "path": "x".repeat(8000) });
        let whole = Whole { sha256: "a".repeat(64), bytes: 780_000 };
        let told = fit(args, &whole);
        assert_eq!((&told[LEFT_OUT]["bytes"], &told[LEFT_OUT]["sha256"]), (&json!(780_000), &json!("a".repeat(64))));
        assert!(told[LEFT_OUT]["head"].as_str().unwrap().starts_with("{\"path\":\"xxx"), "{told}");
        assert!(told.to_string().len() < 1024);
        assert!(compact(told, &whole.sha256)[LEFT_OUT].get("head").is_none());
        assert_eq!(fit(json!({"pin": 1}), &whole), json!({"pin": 1}));
        assert_eq!(compact(json!({"pin": 1}), &whole.sha256), json!({"pin": 1}));
    }
}
