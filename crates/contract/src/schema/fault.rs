//! A fault in a value, and the error that is made from it.

use super::check::JsonType;
use base::{error::ToolError, redact::is_secret_name};
use serde_json::Value;

/// The first fault found.
#[derive(Debug)]
pub struct SchemaError<'v> {
    /// The faulty value itself, not its container.
    value: &'v Value,
    wrong: Wrong,
    /// The JSON Pointer (RFC 6901) to it.
    path: String,
}

#[derive(Debug)]
pub(super) enum Wrong {
    Type(Vec<JsonType>),
    /// A property that is not in the schema.
    Unknown(String),
    Missing(String),
    NoneOf(Vec<Value>),
    Never,
    /// A predicate: "is greater than 7".
    Said(String),
}

impl<'v> SchemaError<'v> {
    pub(super) fn new(value: &'v Value, wrong: Wrong) -> Self {
        Self { value, wrong, path: String::new() }
    }

    /// The same fault, relative to the container that has the value as `name`.
    pub(super) fn inside(mut self, name: &str) -> Self {
        self.path.insert_str(0, &format!("/{}", name.replace('~', "~0").replace('/', "~1")));
        self
    }

    /// The JSON Pointer to the fault; empty for the whole value.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The error for arguments `args`, naming the parameter, what was expected and what was found.
    pub fn refusal(&self, args: &Value) -> ToolError {
        let mut path = self.path.clone();
        let subject = if path.is_empty() { "arguments".into() } else { format!("parameter '{}'", dotted(&path)) };
        let mut below = |name: &str| path = format!("{path}/{name}");
        let error = match &self.wrong {
            Wrong::Unknown(name) => {
                below(name);
                ToolError::invalid(format!("there is no parameter '{name}'; leave it out"))
            }
            Wrong::Missing(name) => {
                below(name);
                ToolError::invalid(format!("parameter '{name}' is required"))
            }
            Wrong::Type(types) => {
                let expected = types.iter().map(|one| one.name()).collect::<Vec<_>>().join(" or ");
                let actual = type_of(self.value);
                let article = if path.is_empty() { "an " } else { "" };
                ToolError::invalid(format!("{subject} must be {article}{expected}, got {actual}"))
                    .with("expected_type", expected)
                    .with("actual_type", actual)
            }
            Wrong::NoneOf(these) => {
                let these = these.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
                ToolError::invalid(format!("{subject} must be one of {these}")).with("allowed_values", these)
            }
            Wrong::Never => ToolError::invalid(format!("{subject} cannot be given")),
            Wrong::Said(said) => ToolError::invalid(format!("{subject} {said}")),
        };
        let error = error.with("parameter", dotted(&path)).with("path", path.clone());
        match args.pointer(&path) {
            Some(value) if !value.is_object() && !value.is_array() && !is_secret_name(&path) => {
                error.with("provided_value", shortened(value))
            }
            _ => error,
        }
    }
}

impl JsonType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// Truncates strings to 80 characters, because errors must not repeat arbitrary input.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > 80 => Value::String(text.chars().take(80).chain(['…']).collect()),
        other => other.clone(),
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
