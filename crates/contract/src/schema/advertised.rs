//! The advertised form of arguments that accept more forms.
//!
//! The SDKs that pass tools to models support only a part of JSON Schema (decision 230): no list of types, no enum of
//! several types, no free map. A property that accepts more specifies its advertised form:
//! `#[schemars(extend("x-advertised" = ...))]`. The files in `schemas/` then have the advertised form in `inputSchema`
//! and the accepted form in `accepts`.

use serde_json::{Map, Value};

/// The keyword, which is never published.
const MARK: &str = "x-advertised";

/// Splits the `schema` generated from the types: returns the advertised schema, and the accepted schemas of the
/// properties that differ, by name.
pub fn split(mut schema: Value) -> (Value, Map<String, Value>) {
    let mut accepts = Map::new();
    for (name, property) in schema["properties"].as_object_mut().into_iter().flatten() {
        let Some(Value::Object(mut shown)) = property.as_object_mut().and_then(|words| words.shift_remove(MARK)) else {
            continue;
        };
        for word in ["description", "default"] {
            if let Some(value) = property.get(word) {
                shown.entry(word).or_insert_with(|| value.clone());
            }
        }
        let mut accepted = std::mem::replace(property, shown.into());
        if let Some(words) = accepted.as_object_mut() {
            words.shift_remove("description");
        }
        accepts.insert(name.clone(), accepted);
    }
    (schema, accepts)
}

/// The schema for validation: `advertised`, with the properties in `accepts` replaced by their accepted schemas.
pub fn executed(mut advertised: Value, accepts: Map<String, Value>) -> Value {
    for (name, mut accepted) in accepts {
        let property = &mut advertised["properties"][&name];
        accepted["description"] = property["description"].take();
        *property = accepted;
    }
    advertised
}
