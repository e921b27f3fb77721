//! What a listing advertises of arguments that a tool takes in more forms.
//!
//! The SDKs that hand tools to models take a part of JSON Schema (decision 230): no list of types, no enum of several
//! types, no free map. A property that accepts more than that names what is advertised in its place:
//! `#[schemars(extend("x-advertised" = ...))]`. `schemas/` then has the advertised form in `inputSchema`, and what is
//! accepted in `accepts`.

use serde_json::{Map, Value};

/// The keyword; it never leaves this program.
const MARK: &str = "x-advertised";

/// Parts the `schema` that the types make: returns what is advertised, and the accepted schema of each property that differs,
/// by its name.
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

/// The schema that is executed: `advertised`, where the properties in `accepts` are the accepted ones.
pub fn executed(mut advertised: Value, accepts: Map<String, Value>) -> Value {
    for (name, mut accepted) in accepts {
        let property = &mut advertised["properties"][&name];
        accepted["description"] = property["description"].take();
        *property = accepted;
    }
    advertised
}
