//! `resolution`: the length of a bucket, as `10s`, `1m`, `6h` or `1d`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use std::borrow::Cow;

/// Defaults: the first that makes no more buckets than a reader wants.
const OWN: [&str; 8] = ["10s", "1m", "5m", "15m", "1h", "3h", "6h", "1d"];
const ENOUGH: i64 = 120;

/// A bucket's length, 1 s to 99,999 days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// As given.
    pub text: String,
    /// Milliseconds.
    pub ms: i64,
}

impl Resolution {
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        let plain =
            (1..=5).contains(&number.len()) && !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
        let number: i64 = plain.then(|| number.parse().ok())??;
        Some(Self { text: text.to_owned(), ms: number * seconds * 1000 })
    }

    /// The default resolution for a time range of `ms` milliseconds.
    pub fn for_span(ms: i64) -> Self {
        let own = |text: &&str| Self::parse(text);
        let fits = |resolution: &Self| ms / resolution.ms <= ENOUGH;
        let coarsest = Self { text: "7d".into(), ms: 7 * 86_400_000 };
        OWN.iter().filter_map(own).find(fits).unwrap_or(coarsest)
    }
}

impl<'de> Deserialize<'de> for Resolution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            D::Error::custom(format!("{shown:?} is no resolution; write a number and s, m, h or d, like \"1m\""))
        })
    }
}

impl JsonSchema for Resolution {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Resolution".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[1-9][0-9]{0,4}[smhd]$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_bad() {
        for (text, ms) in [("1s", 1000), ("1m", 60_000), ("90m", 5_400_000), ("99999d", 99_999 * 86_400_000)] {
            assert_eq!(Resolution::parse(text).map(|resolution| resolution.ms), Some(ms));
        }
        for bad in ["", "m", "0m", "01m", "1", "1w", "1M", "-1m", "1.5m", "100000s", " 1m", "1m\n", "1ü", "ü", "１m"]
        {
            assert_eq!(Resolution::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn one_that_fits_the_span() {
        for (minutes, text) in
            [(0, "10s"), (20, "10s"), (30, "1m"), (120, "1m"), (1440, "15m"), (10_080, "3h"), (1 << 30, "7d")]
        {
            assert_eq!(Resolution::for_span(minutes * 60_000).text, text, "{minutes}");
        }
    }
}
