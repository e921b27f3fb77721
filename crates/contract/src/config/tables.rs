//! Checks settings that are tables, like `[[access.tokens]]`, field by field, and reports all faults at once.

use super::{
    fault::TextPosition,
    found::{ConfigEntry, LocatedValue, UncheckedValue},
    kind::Complaint,
};
use serde_json::{Map, Value};

/// The common description of such tables.
pub struct Tables<'a> {
    /// Name of the key: `files.roots`.
    pub key: &'static str,
    /// The expected form, for messages.
    pub expected: &'a str,
    /// Maximum number of tables.
    pub most: usize,
    /// The word for one table: "root".
    pub noun: &'static str,
    /// The required fields.
    pub required: &'static [&'static str],
}

impl Tables<'_> {
    /// The tables in the form the settings are read from, or all their faults. `field` checks one field, by its name
    /// and position.
    pub fn check(
        &self,
        found: &LocatedValue,
        wrong: &mut Vec<Complaint>,
        field: impl Fn(&str, Option<TextPosition>, &LocatedValue) -> Result<Value, Complaint>,
    ) -> Option<Value> {
        let Self { key, expected, most, .. } = self;
        let UncheckedValue::List(items) = &found.value else {
            wrong.push((found.at, format!("{key} must be {expected}, not {}", found.kind())));
            return None;
        };
        if items.len() > *most {
            wrong.push((found.at, format!("{key} has {} entries; at most {most} are allowed", items.len())));
            return None;
        }
        let before = wrong.len();
        let tables = items.iter().filter_map(|item| self.check_one(item, wrong, &field)).collect();
        (wrong.len() == before).then_some(Value::Array(tables))
    }

    fn check_one(
        &self,
        item: &LocatedValue,
        wrong: &mut Vec<Complaint>,
        field: impl Fn(&str, Option<TextPosition>, &LocatedValue) -> Result<Value, Complaint>,
    ) -> Option<Value> {
        let Self { key, noun, required, .. } = self;
        let UncheckedValue::Table(entries) = &item.value else {
            wrong.push((item.at, format!("{key} holds {}; write [[{key}]] for each {noun}", item.kind())));
            return None;
        };
        let mut table = Map::new();
        for ConfigEntry { key, key_at, found } in entries {
            match field(key, *key_at, found) {
                Ok(value) => drop(table.insert(key.clone(), value)),
                Err(complaint) => wrong.push(complaint),
            }
        }
        for name in *required {
            if !entries.iter().any(|entry| entry.key == *name) {
                let all = enumerated(required);
                wrong.push((item.at, format!("this {noun} has no {name}; every [[{key}]] needs {all}")));
            }
        }
        Some(Value::Object(table))
    }
}

/// "name, sha256 and role".
pub fn enumerated(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}
