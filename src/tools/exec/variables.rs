//! `env` of `exec.run`: a map (docs/contract/exec.md), or a list of names and values, which the SDKs of models can
//! describe.

use contract::access::commands::{ARG_BYTES, MOST_ENV};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::BTreeMap, fmt};

#[derive(Default)]
pub struct Variables {
    pub map: BTreeMap<String, String>,
    /// A name that occurs twice in a list: the call is refused, since one value would be ignored.
    pub twice: Option<String>,
}

/// One entry of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    value: String,
}

/// Converts a list to a map if its names are unique. Other input is left for the schema and `check` to refuse.
pub fn normalise(args: &mut Value) {
    if let Some(env) = args.get_mut("env")
        && let Some(map) = env.as_array().and_then(|list| as_map(list))
    {
        *env = map.into();
    }
}

fn as_map(list: &[Value]) -> Option<Map<String, Value>> {
    let mut map = Map::new();
    for item in list {
        let (Some(name), Some(value), 2) = (item["name"].as_str(), item.get("value"), item.as_object()?.len()) else {
            return None;
        };
        if map.insert(name.to_owned(), value.clone()).is_some() {
            return None;
        }
    }
    Some(map)
}

impl Variables {
    fn add<E: Error>(&mut self, name: String, value: String) -> Result<(), E> {
        super::run::short(&value, ARG_BYTES)?;
        if let Some(earlier) = self.map.insert(name.clone(), value) {
            self.map.insert(name.clone(), earlier);
            self.twice = Some(name);
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Variables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

fn too_many<E: Error>() -> E {
    E::custom(format!("more than {MOST_ENV} variables"))
}

impl<'de> Visitor<'de> for Reader {
    type Value = Variables;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of variables, or a list of {name, value}")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Variables, A::Error> {
        let mut variables = Variables::default();
        while let Some((name, value)) = given.next_entry()? {
            variables.add(name, value)?;
        }
        if variables.map.len() > MOST_ENV { Err(too_many()) } else { Ok(variables) }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Variables, A::Error> {
        let (mut variables, mut count) = (Variables::default(), 0);
        while let Some(Variable { name, value }) = given.next_element()? {
            count += 1;
            variables.add(name, value)?;
        }
        if count > MOST_ENV { Err(too_many()) } else { Ok(variables) }
    }
}

impl JsonSchema for Variables {
    fn schema_name() -> Cow<'static, str> {
        "Variables".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string", "maxLength": ARG_BYTES });
        let list = json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "value": text },
                "required": ["name", "value"],
                "additionalProperties": false,
            },
            "maxItems": MOST_ENV,
            "default": [],
        });
        json_schema!({
            "type": ["object", "array"],
            "additionalProperties": text,
            "maxProperties": MOST_ENV,
            "items": list["items"],
            "maxItems": MOST_ENV,
            "default": {},
            "x-advertised": list,
        })
    }
}
