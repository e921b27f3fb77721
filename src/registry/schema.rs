//! Schemas from types, and refusals from schemas.

use crate::error::ToolError;
use jsonschema::{Draft, ValidationError, Validator, error::ValidationErrorKind as Kind};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// JSON Schema 2020-12 of `S`, inlined and without `$schema`: what `tools/list` returns and `schemas/` holds.
pub fn of<S: JsonSchema>() -> Value {
    finish(generate::<S>())
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
        // The reference form of an empty object has no "properties"; clients expect the key.
        object.entry("properties").or_insert_with(|| Value::Object(Default::default()));
    }
    schema
}

/// [`of`] for arguments: a Rust integer becomes the range it holds, so that the schema refuses what the parser would.
pub fn of_arguments<S: JsonSchema>() -> Value {
    let mut schema = generate::<S>();
    ranges(&mut schema);
    finish(schema)
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

/// Executes a schema as this server means it: `format` is a promise here, not the annotation that 2020-12 makes of it.
///
/// Executed as Draft 7: the crate checks every schema against its draft's meta-schema, and compiling that of 2020-12 takes
/// longer than the whole start and stays in memory. The keywords used here mean the same in both drafts; the contract test
/// sees to it that there are no others, and that each schema is a valid one of 2020-12.
///
/// # Errors
/// When `schema` is none.
pub fn validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().should_validate_formats(true).with_draft(Draft::Draft7).build(schema)
}

/// Drops Rust-only formats such as `uint8`: readers of the contract see ranges, not Rust widths.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let rust_only = map.get("format").and_then(Value::as_str).is_some_and(|format| {
                format.starts_with("uint") || format.starts_with("int") || matches!(format, "double" | "float")
            });
            if rust_only {
                map.remove("format");
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The refusal of arguments that do not fit: names the parameter, what was expected and what came.
pub fn refusal(fault: &ValidationError<'_>, args: &Value) -> ToolError {
    let mut pointer = fault.instance_path().to_string();
    let mut error = match fault.kind() {
        Kind::AdditionalProperties { unexpected } => {
            let name = unexpected.first().map_or("", String::as_str);
            pointer = format!("{pointer}/{name}");
            ToolError::invalid(format!("there is no parameter '{name}'; leave it out"))
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            pointer = format!("{pointer}/{name}");
            ToolError::invalid(format!("parameter '{name}' is required"))
        }
        Kind::Type { kind } => {
            let expected = type_names(kind);
            let actual = type_of(fault.instance());
            let mut error = if pointer.is_empty() {
                ToolError::invalid(format!("arguments must be an {expected}, got {actual}"))
            } else {
                ToolError::invalid(format!("parameter '{}' must be {expected}, got {actual}", dotted(&pointer)))
            };
            error = error.with("expected_type", expected).with("actual_type", actual);
            error
        }
        _ if pointer.is_empty() => ToolError::invalid(format!("arguments: {}", fault)),
        _ => ToolError::invalid(format!("parameter '{}': {}", dotted(&pointer), fault)),
    };
    error = error.with("parameter", dotted(&pointer)).with("path", pointer.clone());
    if let Some(value) = args.pointer(&pointer).filter(|value| !value.is_object() && !value.is_array())
        && !crate::access::redact::is_secret_name(&pointer)
    {
        error = error.with("provided_value", shortened(value));
    }
    error
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// Long strings come back cut: an error is not a mirror.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > 80 => Value::String(text.chars().take(80).chain(['…']).collect()),
        other => other.clone(),
    }
}

fn type_names(kind: &jsonschema::error::TypeKind) -> String {
    match kind {
        jsonschema::error::TypeKind::Single(one) => one.to_string(),
        jsonschema::error::TypeKind::Multiple(many) => {
            many.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
