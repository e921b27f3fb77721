//! JSON inside a JSON string, for clients that read only text.
//!
//! serde escapes one character at a time and writes between each two quotes. JSON has many quotes, so that would cost
//! more than the rest of an answer.

/// Appends `json`, which must be valid JSON, to `out` as a JSON string.
pub fn quote_into(out: &mut Vec<u8>, json: &str) {
    out.reserve(json.len() + json.len() / 4 + 2);
    out.push(b'"');
    let mut rest = json.as_bytes();
    // Compact JSON has no raw control characters, so only quotes and backslashes need escaping. White space between
    // tokens (in JSON passed on from a client) needs it too.
    while let Some(at) = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ') {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(match rest[at] {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            quote_or_backslash => quote_or_backslash,
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_serde_says() {
        for json in [
            "{}",
            r#"{"a":"b","c":[1,2.5,null,true]}"#,
            r#"{"quote":"\"","backslash":"\\","newline":"\n","escape":"\u001b","text":"käse 🧀"}"#,
            "{\n\t\"a\": [ 1,\r\n 2 ]\n}",
            "\"\"",
        ] {
            let mut quoted = b"before ".to_vec();
            quote_into(&mut quoted, json);
            let expected = format!("before {}", serde_json::to_string(json).unwrap());
            assert_eq!(String::from_utf8(quoted).unwrap(), expected, "{json}");
        }
    }
}
