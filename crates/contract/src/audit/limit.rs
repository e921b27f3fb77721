//! Limits the length of a record: whatever the caller sends, it is at most `MAX_RECORD`.
//!
//! Sizes are in stored bytes. JSON needs six bytes for a control character, so the number of characters is no measure.

use super::record::{MAX_NAME, MAX_WORD, ROW_OVERHEAD};
use base::canonical::ArgsDigest;
use serde_json::{Value, json};
use std::{borrow::Cow, io};

/// Maximum bytes of one record as stored: the JSON, the search columns, and SQLite's overhead.
const MAX_RECORD: usize = 8 * 1024;
/// Maximum bytes of one call's JSON, or of the calls of one row. The rest of `MAX_RECORD` is for columns and number.
pub const MAX_BODY: usize = 6900;
/// Arguments with longer JSON are replaced, even if the rest of the record is short.
const MAX_ARGS: usize = 6000;
/// Maximum bytes kept of the beginning of replaced arguments, before they are escaped again.
const HEAD: usize = 256;
/// Arguments up to this length are not replaced: the replacement would not be shorter.
const SMALL: usize = 160;
/// Maximum bytes of a record's number, with its key and comma.
const NUMBER: usize = 28;

// The longest body with its number, and the longest search columns (tool, principal, outcome).
const _: () = assert!(MAX_BODY + NUMBER + 2 * MAX_NAME + MAX_WORD + ROW_OVERHEAD <= MAX_RECORD);

/// `args`, already redacted, as stored in a record: unchanged, or replaced by their length, hash and beginning. `whole`
/// describes the original arguments.
pub fn fit(args: Value, whole: &ArgsDigest) -> Value {
    match beginning(&args, MAX_ARGS) {
        Ok(_) => args,
        Err(text) => left_out(whole, Some(&text)),
    }
}

/// For a caller that has used up its share: only short `args` are kept.
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
            left_out(&ArgsDigest { sha256: sha256.to_owned(), bytes }, None)
        }
    }
}

/// The only key of replaced arguments.
pub const LEFT_OUT: &str = "arguments_left_out";

/// The replacement of arguments that are too long.
pub fn left_out(whole: &ArgsDigest, text: Option<&str>) -> Value {
    let mut said = json!({ "bytes": whole.bytes, "sha256": cut(&whole.sha256, 64) });
    if let Some(text) = text {
        said["head"] = cut(text, HEAD).into();
    }
    json!({ LEFT_OUT: said })
}

/// The JSON of `value` if it has at most `most` bytes, otherwise its beginning as the error. Serialization stops there.
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

/// `text`, or as much of its beginning as needs at most `most` bytes in JSON, with an ellipsis after it.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    // A shortcut for the usual short text: checking each character is slower.
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
        let whole = ArgsDigest { sha256: "a".repeat(64), bytes: 780_000 };
        let told = fit(args, &whole);
        assert_eq!((&told[LEFT_OUT]["bytes"], &told[LEFT_OUT]["sha256"]), (&json!(780_000), &json!("a".repeat(64))));
        assert!(told[LEFT_OUT]["head"].as_str().unwrap().starts_with("{\"path\":\"xxx"), "{told}");
        assert!(told.to_string().len() < 1024);
        assert!(compact(told, &whole.sha256)[LEFT_OUT].get("head").is_none());
        assert_eq!(fit(json!({"pin": 1}), &whole), json!({"pin": 1}));
        assert_eq!(compact(json!({"pin": 1}), &whole.sha256), json!({"pin": 1}));
    }
}
