//! The arguments of another tool, inside those of `tools.run` and `tools.run_read`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A JSON object, or its text. The text is what is advertised: SDKs of models take no object of unknown properties (decision
/// 230). A text that is no object is refused by the handler, which can say so better.
#[derive(Debug, PartialEq)]
pub(crate) enum Arguments {
    Object(Map<String, Value>),
    Text(String),
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Object(Map::new())
    }
}

impl Arguments {
    /// The object. An empty text is the empty object.
    ///
    /// # Errors
    /// The parser's words, or that it is no object.
    pub fn object(self) -> Result<Map<String, Value>, String> {
        match self {
            Self::Object(map) => Ok(map),
            Self::Text(text) if text.trim().is_empty() => Ok(Map::new()),
            Self::Text(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(map) => Ok(Self::Object(map)),
            Value::String(text) => Ok(Self::Text(text)),
            // Counts as absent, as everywhere. A carried call is read before the pipeline removes it.
            Value::Null => Ok(Self::default()),
            _ => Err(D::Error::custom("neither an object nor its text")),
        }
    }
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "string"],
            "additionalProperties": true,
            "x-advertised": { "type": "string" },
        })
    }
}
