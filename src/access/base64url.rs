//! Base64 for URLs without padding (RFC 4648, section 5), as tokens and JSON Web Signatures use it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// That of mail and of JSON (RFC 4648, section 4).
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` as text.
pub fn encode(bytes: &[u8]) -> String {
    spelled(bytes, ALPHABET)
}

/// `bytes` as text in the standard alphabet, with padding.
pub fn standard(bytes: &[u8]) -> String {
    let mut text = spelled(bytes, STANDARD);
    text.extend(std::iter::repeat_n('=', (4 - text.len() % 4) % 4));
    text
}

fn spelled(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        // n bytes make n + 1 letters of six bits each, the highest first.
        for letter in 0..=group.len() {
            text.push(char::from(alphabet[(bits >> (18 - 6 * letter)) as usize & 63]));
        }
    }
    text
}

/// The bytes that `text` stands for; `None` unless [`encode`] would write it just so. One spelling for one value: padding,
/// other alphabets and stray bits at the end are refused.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        if group.len() == 1 {
            return None;
        }
        let mut bits = 0u32;
        for letter in group {
            bits = bits << 6 | u32::from(value(*letter)?);
        }
        bits <<= 6 * (4 - group.len());
        let whole = group.len() - 1;
        let [_, first, second, third] = bits.to_be_bytes();
        let all = [first, second, third];
        if all[whole..].iter().any(|rest| *rest != 0) {
            return None;
        }
        bytes.extend_from_slice(&all[..whole]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    })
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
    }

    #[test]
    fn every_value_has_one_spelling() {
        for bad in ["Z", "Zg==", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm9v\n", "Zm 9", "Zm9vä"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
