//! RouterOS' texts as values with types: one table for all tools.

use serde_json::{Map, Value, json};

/// What a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// `true`, `false`, `yes`, `no`; absent is false.
    Flag,
    Integer,
    /// A number with a fraction.
    Number,
    /// A time such as `1w2d03:04:05` or `2m30s`, in seconds.
    Seconds,
    /// A time such as `12ms345us`, in milliseconds.
    Milliseconds,
    /// Texts with commas between them; absent is empty.
    List,
}

/// A field: its name here and there, and its type.
pub type Field = (&'static str, &'static str, Kind);

/// The value of one text. A number that is none stays a text, so nothing is lost: RouterOS has `auto` and `none`.
pub fn typed(kind: Kind, text: &str) -> Value {
    let number =
        |number: Option<f64>| number.and_then(serde_json::Number::from_f64).map_or_else(|| json!(text), Value::Number);
    match kind {
        Kind::Text => json!(text),
        Kind::Flag => json!(matches!(text, "true" | "yes")),
        Kind::Integer => text.parse::<i64>().map_or_else(|_| json!(text), Value::from),
        Kind::Number => number(text.parse().ok()),
        Kind::Seconds => nanoseconds(text).map_or_else(|| json!(text), |time| json!(time / 1_000_000_000)),
        Kind::Milliseconds => number(nanoseconds(text).map(|time| time as f64 / 1e6)),
        Kind::List => json!(text.split(',').filter(|part| !part.is_empty()).collect::<Vec<_>>()),
    }
}

/// The fields of a row that are there; flags and lists also when they are not.
pub fn object(row: &Value, fields: &[Field]) -> Map<String, Value> {
    let value = |(name, theirs, kind): &Field| match (row[*theirs].as_str(), kind) {
        (Some(text), kind) => Some(((*name).to_owned(), typed(*kind, text))),
        (None, Kind::Flag | Kind::List) => Some(((*name).to_owned(), typed(*kind, ""))),
        (None, _) => None,
    };
    fields.iter().filter_map(value).collect()
}

/// A time of RouterOS: weeks to microseconds, and `hh:mm:ss` at its end.
pub fn nanoseconds(text: &str) -> Option<u64> {
    let (mut total, mut rest) = (0_u64, text.trim());
    let begin = rest.len();
    while !rest.is_empty() {
        if rest.contains(':') && !rest.contains(['w', 'd', 'h']) {
            return Some(total + clock(rest)?);
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, more) = rest.split_at(digits);
        let unit_length = more.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(more.len());
        let (unit, more) = more.split_at(unit_length);
        let nanoseconds: u64 = match unit {
            "w" => 604_800_000_000_000,
            "d" => 86_400_000_000_000,
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        let time = number.parse::<f64>().ok()? * nanoseconds as f64;
        // Past some centuries it is no time of a router.
        total = total.checked_add((time < u64::MAX as f64).then_some(time as u64)?)?;
        rest = more;
    }
    (begin > 0).then_some(total)
}

fn clock(text: &str) -> Option<u64> {
    let parts: Vec<f64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    Some(((hours * 3_600.0 + minutes * 60.0 + seconds) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_get_their_types_and_what_has_none_stays_a_text() {
        for (kind, text, value) in [
            (Kind::Flag, "true", json!(true)),
            (Kind::Flag, "no", json!(false)),
            (Kind::Integer, "1500", json!(1500)),
            (Kind::Integer, "auto", json!("auto")),
            (Kind::Number, "24.1", json!(24.1)),
            (Kind::Seconds, "1w2d03:04:05", json!(788_645)),
            (Kind::Seconds, "2m30s", json!(150)),
            (Kind::Seconds, "never", json!("never")),
            (Kind::Milliseconds, "12ms345us", json!(12.345)),
            (Kind::List, "192.0.2.1,192.0.2.2", json!(["192.0.2.1", "192.0.2.2"])),
            (Kind::List, "", json!([])),
        ] {
            assert_eq!(typed(kind, text), value, "{text}");
        }
        assert_eq!(nanoseconds(""), None);
        assert_eq!(nanoseconds("5"), None);
        assert_eq!(nanoseconds("99999999999999w"), None);
    }
}
