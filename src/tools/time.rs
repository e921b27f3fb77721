//! Moments in arguments: RFC 3339, any offset.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use std::borrow::Cow;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub OffsetDateTime);

impl Moment {
    /// In the form all answers use, which sorts as text.
    pub fn stamp(self) -> String {
        crate::clock::stamp(self.0)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

/// `text` as RFC 3339 has it.
///
/// # Errors
/// A sentence with an example.
pub fn parse(text: &str) -> Result<OffsetDateTime, String> {
    let bad = |why: String| format!("{text:?} is no RFC 3339 time like 2026-01-15T14:30:00Z: {why}");
    // The `time` crate takes any letter there; the grammar of RFC 3339 takes only this one.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
        return Err(bad("there is no T between date and time".into()));
    }
    OffsetDateTime::parse(text, &Rfc3339).map_err(|error| bad(error.to_string()))
}

impl JsonSchema for Moment {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
