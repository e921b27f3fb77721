//! JSON inside a JSON string, for clients that read only text.
//!
//! serde escapes a character at a time and writes between each two quotes; for JSON, which is half quotes, that costs more
//! than everything else about an answer.

use serde_json::value::RawValue;

/// `json` as a JSON string.
pub fn quote(json: &RawValue) -> Box<RawValue> {
    let text = json.get();
    let mut out = String::with_capacity(text.len() + text.len() / 4 + 2);
    out.push('"');
    let mut rest = text;
    // Compact JSON holds no raw control characters, so quotes and backslashes are all there is to escape; white space
    // between tokens (a client's own JSON passed on) is.
    while let Some(at) = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            _ => out.push_str("\\t"),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
    RawValue::from_string(out).expect("JSON has no other control characters, raw or between tokens")
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
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            assert_eq!(quote(&raw).get(), serde_json::to_string(json).unwrap(), "{json}");
        }
    }
}
