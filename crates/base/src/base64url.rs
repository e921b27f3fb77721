//! Base64url without padding (RFC 4648, section 5), for tokens and JSON Web Signatures, and standard base64 for
//! answers.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};

/// Encodes `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Encodes `bytes` in the standard alphabet, with padding (RFC 4648, section 4).
pub fn standard(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Decodes `text`; `None` unless it is exactly the output of [`encode`]. Padding, other alphabets and stray bits at the
/// end are refused, so that each value has one spelling.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

/// Decodes the output of [`standard`]; `None` for other text.
pub fn decode_standard(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_rfc_4648() {
        let pairs = [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")];
        for (plain, coded) in pairs {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "-__-");
        assert_eq!(decode("-__-"), Some(vec![0xfb, 0xff, 0xfe]));
        assert_eq!(standard(&[0xfb, 0xff, 0xfe]), "+//+");
        assert_eq!(standard(b"foob"), "Zm9vYg==");
        assert_eq!(decode_standard("Zm9vYg=="), Some(b"foob".to_vec()));
        assert_eq!(decode_standard("-__-"), None);
    }

    #[test]
    fn every_value_has_one_spelling() {
        for bad in ["Z", "Zg==", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm9v\n", "Zm 9", "Zm9vä"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }

    /// All texts of up to three letters, and what [`decode`] takes is what [`encode`] writes.
    #[test]
    fn what_is_taken_is_what_is_written() {
        let letters: Vec<char> = (' '..='~').chain(['ä', '\n']).collect();
        let mut taken = 0;
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            texts = texts.iter().flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}"))).collect();
            for text in &texts {
                if let Some(bytes) = decode(text) {
                    assert_eq!(encode(&bytes), *text);
                    taken += 1;
                }
            }
        }
        assert_eq!(taken, 256 + 256 * 256);
    }
}
