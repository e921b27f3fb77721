//! Generates schemas from types. The other files of this folder validate values against them.

pub mod advertised;
mod check;
mod compile;
mod fault;
mod foreign;
mod format;
mod number;
mod projection;

pub use check::Checker;
pub use fault::SchemaError;
pub use foreign::executable;
pub use projection::projection;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// JSON Schema 2020-12 of the result `S`, inlined and without `$schema`, for `tools/list` and `schemas/`.
///
/// Its objects are open: a field may be added without a new schema version (docs/contract/README.md), and a client with
/// an older schema must still accept the answer.
pub fn of<S: JsonSchema>() -> Value {
    let mut schema = generate::<S>();
    open(&mut schema);
    finish(schema)
}

fn generate<S: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<S>().to_value()
}

fn finish(mut schema: Value) -> Value {
    strip(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
        // The generated schema of an empty object has no "properties"; clients expect the key.
        object.entry("properties").or_insert_with(|| Value::Object(Default::default()));
    }
    schema
}

/// The same for arguments. Their objects are closed: unknown properties are refused. Rust integers become ranges, so
/// that the schema refuses what the parser would. Optional properties may also be null ([`Checker::without_nulls`]),
/// which the schema does not repeat at every property.
pub fn of_arguments<S: JsonSchema>() -> Value {
    let mut schema = generate::<S>();
    ranges(&mut schema);
    not_null(&mut schema);
    finish(schema)
}

fn open(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("additionalProperties") == Some(&Value::Bool(false)) {
                map.remove("additionalProperties");
            }
            map.values_mut().for_each(open);
        }
        Value::Array(items) => items.iter_mut().for_each(open),
        _ => {}
    }
}

/// Removes null from the allowed values.
fn not_null(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|one| one != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            if let Some(Value::Array(members)) = map.get_mut("enum") {
                members.retain(|one| !one.is_null());
            }
            if map.get("default") == Some(&Value::Null) {
                map.remove("default");
            }
            map.values_mut().for_each(not_null);
        }
        Value::Array(items) => items.iter_mut().for_each(not_null),
        _ => {}
    }
}

fn ranges(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let range: Option<(Value, Value)> = match map.get("format").and_then(Value::as_str) {
                Some("uint8") => Some((u8::MIN.into(), u8::MAX.into())),
                Some("uint16") => Some((u16::MIN.into(), u16::MAX.into())),
                Some("uint32") => Some((u32::MIN.into(), u32::MAX.into())),
                Some("uint64" | "uint") => Some((u64::MIN.into(), u64::MAX.into())),
                Some("int8") => Some((i8::MIN.into(), i8::MAX.into())),
                Some("int16") => Some((i16::MIN.into(), i16::MAX.into())),
                Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
                Some("int64" | "int") => Some((i64::MIN.into(), i64::MAX.into())),
                _ => None,
            };
            if let Some((least, most)) = range {
                map.entry("minimum").or_insert(least);
                map.entry("maximum").or_insert(most);
            }
            map.values_mut().for_each(ranges);
        }
        Value::Array(items) => items.iter_mut().for_each(ranges),
        _ => {}
    }
}

/// Removes Rust-only formats such as `uint8`: the published contract has ranges, not Rust types.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let rust_only = map.get("format").and_then(Value::as_str).is_some_and(|format| {
                format.starts_with("uint") || format.starts_with("int") || matches!(format, "double" | "float")
            });
            if rust_only {
                map.remove("format");
            }
            // A default of null adds no information, and would be in every listing.
            if map.get("default") == Some(&Value::Null) && map.contains_key("type") {
                map.remove("default");
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
