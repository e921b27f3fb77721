//! Canonical JSON, and the SHA-256 that approvals and audit records are bound to.
//!
//! Keys are sorted by their UTF-8 bytes, without white space, numbers as serde_json prints them. Objects that differ
//! only in the order of keys have the same form.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Canonical JSON of `value`.
pub fn to_string(value: &Value) -> String {
    let mut out = String::with_capacity(128);
    write_value(&mut out, value);
    out
}

/// SHA-256 over the canonical JSON of `value`, as 64 lower-case hexadecimal digits.
pub fn sha256_hex(value: &Value) -> String {
    ArgsDigest::of(value).sha256
}

/// SHA-256 of `bytes`, as 64 lower-case hexadecimal digits.
pub fn sha256_of(bytes: &[u8]) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// Length and hash of arguments, in place of arguments that are not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgsDigest {
    /// SHA-256 of the canonical JSON, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Length of the canonical JSON in bytes.
    pub bytes: usize,
}

impl ArgsDigest {
    /// Of `value`'s canonical form.
    pub fn of(value: &Value) -> Self {
        if value.as_object().is_some_and(serde_json::Map::is_empty) {
            // Most reads have no arguments.
            return Self { sha256: OF_NOTHING.to_owned(), bytes: 2 };
        }
        let text = to_string(value);
        Self { sha256: hex(&Sha256::digest(text.as_bytes())), bytes: text.len() }
    }
}

/// Approximate size of `value` as JSON, in bytes, as a measure of the work on it. Copies nothing, and does not read
/// strings.
pub fn weight(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.iter().map(|(key, item)| key.len() + 4 + weight(item)).sum::<usize>() + 2,
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum::<usize>() + 2,
        Value::String(text) => text.len() + 2,
        _ => 4,
    }
}

/// SHA-256 of `{}`.
const OF_NOTHING: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    // Not through `write!`: this runs once per call, and formatting each byte costs more than hashing.
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A UUID of these bytes and that version (RFC 9562).
pub fn uuid(mut bytes: [u8; 16], version: u8) -> String {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Decodes hexadecimal digits; `None` for anything else.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            crate::sort::sort(&mut keys);
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_scalar(out, &Value::String(key.clone()));
                out.push(':');
                write_value(out, &map[key]);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        scalar => write_scalar(out, scalar),
    }
}

fn write_scalar(out: &mut String, scalar: &Value) {
    // serde_json's Display of a scalar is its compact JSON; writing to a String cannot fail.
    let _ = write!(out, "{scalar}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arguments_have_the_hash_they_should() {
        assert_eq!(sha256_hex(&serde_json::json!({})), hex(&Sha256::digest(b"{}")));
    }
}
