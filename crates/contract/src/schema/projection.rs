//! The part of an output schema that is listed.

use serde_json::{Map, Value};

/// Maximum bytes of a listed output schema. It has as many levels of objects as fit, and always the first: with all
/// levels, output schemas were two thirds of a list. `tools.describe` and `schemas/` have the full schema.
const ENOUGH: usize = 400;
/// The deepest result has fewer levels.
const DEEPEST: usize = 8;

/// `schema` reduced to names, types and required fields. Every value that fits `schema` fits its projection
/// (`tests/it/contract/listed.rs`).
pub fn projection(schema: &Value) -> Value {
    let mut shown = level(schema, 1);
    for levels in 2..=DEEPEST {
        let deeper = level(schema, levels);
        if deeper == shown || deeper.to_string().len() > ENOUGH {
            break;
        }
        shown = deeper;
    }
    if let Some(required) = schema.get("required") {
        shown["required"] = required.clone();
    }
    shown
}

fn level(schema: &Value, levels: usize) -> Value {
    let mut shown = Map::new();
    if let Some(types) = schema.get("type") {
        shown.insert("type".into(), types.clone());
    }
    if levels > 0 {
        if let Some(properties) = schema["properties"].as_object() {
            let part = |(name, part): (&String, &Value)| (name.clone(), level(part, levels - 1));
            shown.insert("properties".into(), properties.iter().map(part).collect::<Map<_, _>>().into());
        }
        if let Some(items) = schema.get("items") {
            shown.insert("items".into(), level(items, levels));
        }
    }
    shown.into()
}
