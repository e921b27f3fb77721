//! `quantity`: what is measured, one of the words of [`hw::sensors::QUANTITIES`].

use hw::sensors::{QUANTITIES, Quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use std::borrow::Cow;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Measured(pub &'static Quantity);

fn words() -> Vec<&'static str> {
    QUANTITIES.iter().map(|quantity| quantity.word).collect()
}

impl<'de> Deserialize<'de> for Measured {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let found = QUANTITIES.iter().find(|quantity| quantity.word == word);
        found.map(|quantity| Self(quantity)).ok_or_else(|| D::Error::custom(format!("one of {}", words().join(", "))))
    }
}

impl JsonSchema for Measured {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": words() })
    }
}
