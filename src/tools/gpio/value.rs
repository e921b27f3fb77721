//! A level in arguments: `"high"` and `"low"`, or 1 and 0 (docs/contract/gpio.md). The answer uses the form of the
//! argument.

use hw::line::Level;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, fmt};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub level: Level,
    numeric: bool,
}

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["high", "low", 1, 0] })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"high\", \"low\", 1 or 0")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        match text {
            "high" => Ok(Value { level: Level::High, numeric: false }),
            "low" => Ok(Value { level: Level::Low, numeric: false }),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        match number {
            0 | 1 => Ok(Value { level: Level::of(number == 1), numeric: true }),
            _ => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
        }
    }
    // JSON Schema has one kind of number: 1.0 equals 1.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        match number {
            0.0 => self.visit_u64(0),
            1.0 => self.visit_u64(1),
            _ => Err(E::invalid_value(de::Unexpected::Float(number), &self)),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.numeric {
            serializer.serialize_u8(self.level.is_high().into())
        } else {
            self.level.serialize(serializer)
        }
    }
}

impl Value {
    /// Default level of an output.
    pub fn low() -> Self {
        Self { level: Level::Low, numeric: false }
    }
    /// The other level in the same form.
    pub fn with(self, level: Level) -> Self {
        Self { level, ..self }
    }
}
