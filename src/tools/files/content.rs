//! The contents of a file in JSON: text or base64, and the tag that identifies them.

use base::{base64url, error::ToolError};
use ring::digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How content is written in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "ascii")]
    Ascii,
    #[serde(rename = "base64")]
    Base64,
}

/// Identifies contents: SHA-256 in hexadecimal (docs/contract/files.md).
pub fn etag(bytes: &[u8]) -> String {
    base::canonical::sha256_of(bytes)
}

/// The tag of a digest.
pub fn tag(digest: digest::Digest) -> String {
    base::canonical::hex(digest.as_ref())
}

/// Base64 with padding (RFC 4648, section 4).
pub fn to_base64(bytes: &[u8]) -> String {
    base64url::standard(bytes)
}

/// Decodes base64. Line breaks and missing padding are accepted; other characters are not.
///
/// # Errors
/// `invalid_argument` naming `parameter`.
pub fn from_base64(text: &str, parameter: &str) -> Result<Vec<u8>, ToolError> {
    let letters: String = text
        .trim_end_matches(['=', '\n', '\r'])
        .chars()
        .filter(|letter| !matches!(letter, '\n' | '\r'))
        .map(|letter| match letter {
            '+' => '-',
            '/' => '_',
            // Not in this alphabet: replaced by a character that the decoder refuses.
            '-' | '_' => '?',
            other => other,
        })
        .collect();
    base64url::decode(&letters).ok_or_else(|| {
        ToolError::invalid(format!("parameter '{parameter}' is no base64 (RFC 4648, section 4)"))
            .with("parameter", parameter)
            .hint("send plain text in content with encoding utf-8, or encode the bytes again")
    })
}

/// Decodes bytes that start at `offset` as text; also returns how many bytes were used. A character cut off at the end
/// is omitted unless the file ends there.
///
/// # Errors
/// `failed_precondition` if they are not valid text, `invalid_argument` if `offset` is inside a character.
pub fn to_text(mut bytes: Vec<u8>, offset: u64, ends: bool, ascii: bool) -> Result<String, ToolError> {
    let other = |at: usize, what: &str| {
        ToolError::precondition(format!("the file is no {what} text: byte {} does not fit", offset + at as u64))
            .with("parameter", "encoding")
            .with("byte", offset + at as u64)
            .hint("read it with encoding \"base64\"")
    };
    if ascii && let Some(at) = bytes.iter().position(|byte| !byte.is_ascii()) {
        return Err(other(at, "ASCII"));
    }
    if offset > 0 && bytes.first().is_some_and(|byte| byte & 0xc0 == 0x80) {
        return Err(ToolError::invalid(format!("offset {offset} lies inside a character"))
            .with("parameter", "offset")
            .hint("use the next_offset of the answer before, or encoding \"base64\""));
    }
    if let Err(fault) = std::str::from_utf8(&bytes) {
        let whole = fault.valid_up_to();
        if fault.error_len().is_some() || ends {
            return Err(other(whole, "UTF-8"));
        }
        if whole == 0 {
            return Err(ToolError::invalid(format!("the character at byte {offset} is longer than length"))
                .with("parameter", "length")
                .hint("a character has up to 4 bytes"));
        }
        bytes.truncate(whole);
    }
    String::from_utf8(bytes).map_err(|_| ToolError::internal("text that was checked is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(to_base64(plain.as_bytes()), coded);
            assert_eq!(from_base64(coded, "content").unwrap(), plain.as_bytes());
        }
        assert_eq!(to_base64(&[0xfb, 0xff, 0xfe]), "+//+");
        assert_eq!(from_base64("+//+", "content").unwrap(), [0xfb, 0xff, 0xfe]);
        assert_eq!(from_base64("Zm9v\r\nYmFy\n", "content").unwrap(), b"foobar");
        for bad in ["Z", "-__-", "Zm9v!", "Zm 9v", "Zh==", "Zg=a"] {
            assert!(from_base64(bad, "content").is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cut_character_is_left_for_the_next_page() {
        let text = "aü€".as_bytes();
        assert_eq!(to_text(text[..2].to_vec(), 0, false, false).unwrap(), "a");
        assert_eq!(to_text(text[..3].to_vec(), 0, false, false).unwrap(), "aü");
        assert_eq!(to_text(text[3..].to_vec(), 3, true, false).unwrap(), "€");
        assert!(to_text(text[2..].to_vec(), 2, true, false).unwrap_err().message.contains("inside a character"));
        assert!(to_text(text[..2].to_vec(), 0, true, false).unwrap_err().message.contains("byte 1"));
        assert!(to_text(vec![b'a', 0xff], 0, false, false).unwrap_err().message.contains("byte 1"));
        assert!(to_text(text.to_vec(), 0, true, true).unwrap_err().message.contains("ASCII"));
    }
}
