//! Rows with ids, in the order in which RouterOS lists and evaluates them.

use serde_json::{Map, Value};
use std::fmt;

/// The number behind `*1F`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowId(pub u32);

impl RowId {
    /// Of `*1F`.
    pub fn parse(text: &str) -> Option<Self> {
        u32::from_str_radix(text.strip_prefix('*')?, 16).ok().map(Self)
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "*{:X}", self.0)
    }
}

/// One row: its values are text, as everything in RouterOS' REST API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: RowId,
    pub fields: Map<String, Value>,
}

impl Row {
    pub fn new(id: RowId, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        Self { id, fields }
    }

    /// The value of a field; empty if it has none.
    pub fn get(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.fields.insert(name.to_owned(), Value::String(value.into()));
    }

    /// Sets a field, or takes its value away.
    pub fn put(&mut self, name: &str, value: Option<String>) {
        match value {
            Some(value) => self.set(name, value),
            None => drop(self.fields.remove(name)),
        }
    }

    /// Whether a flag is set: `true`, as RouterOS prints it.
    pub fn is(&self, flag: &str) -> bool {
        self.get(flag) == "true"
    }

    pub fn is_enabled(&self) -> bool {
        !self.is("disabled")
    }

    /// As a listing has it: `.id` first.
    pub fn shown(&self) -> Value {
        self.clone().into_shown()
    }

    /// As [`Row::shown`].
    pub(crate) fn into_shown(self) -> Value {
        let mut shown = Map::new();
        shown.insert(".id".into(), self.id.to_string().into());
        shown.extend(self.fields);
        shown.into()
    }
}
