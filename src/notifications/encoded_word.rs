//! Text in a header: as it is while it is plain ASCII, otherwise as encoded words (RFC 2047), which ntfy decodes.

use base::base64url::standard;

/// Bytes of text in one encoded word. A word has at most 75 characters (RFC 2047, 2): 12 around 60 of base64.
const WORD: usize = 45;

/// `text` in printable ASCII. Control characters become spaces before that, so that no reader finds a second header.
pub fn encoded(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && !line.contains("=?") {
        return line;
    }
    let mut words: Vec<String> = Vec::new();
    let mut rest = line.as_str();
    while !rest.is_empty() {
        // Whole characters only: each word is decoded alone.
        let (word, after) = rest.split_at(rest.floor_char_boundary(WORD));
        words.push(format!("=?UTF-8?B?{}?=", standard(word.as_bytes())));
        rest = after;
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_and_everything_else_is_encoded() {
        assert_eq!(encoded("pi: approval wanted for system.reboot"), "pi: approval wanted for system.reboot");
        assert_eq!(encoded("a\r\nX-Evil: 1"), "a  X-Evil: 1");
        assert_eq!(encoded("Küche"), "=?UTF-8?B?S8O8Y2hl?=");
        // What looks encoded would be decoded into something else.
        assert_eq!(encoded("=?UTF-8?B?QQ==?="), "=?UTF-8?B?PT9VVEYtOD9CP1FRPT0/PQ==?=");
        let long = encoded(&"😀".repeat(40));
        assert!(long.split(' ').all(|word| word.len() <= 75 && word.starts_with("=?UTF-8?B?") && word.ends_with("?=")));
    }
}
