//! The description of a setting that is written as tables, like `[[access.tokens]]`.

use super::{
    found::{LocatedValue, quoted},
    kind::{Complaint, KnownTools},
    tables::{Tables, enumerated},
    words::meant,
};
use serde_json::Value;

/// Checks the field of that name, and returns it in the form the settings are read from. `None`: there is no such
/// field.
pub type CheckField = fn(&str, &LocatedValue, &KnownTools) -> Option<Result<Value, Complaint>>;

/// One such setting. Its check, the expected form in the documentation and the example of the default file come from
/// here.
#[derive(Debug)]
pub struct TableSetting {
    /// Name of the key: `files.roots`.
    pub key: &'static str,
    /// The word for one table: "root".
    pub noun: &'static str,
    /// Maximum number of tables.
    pub most: usize,
    /// Whether each table has a unique name.
    pub named: bool,
    /// Whether it must be in a file that others cannot read.
    pub secret: bool,
    /// Fields each table must have.
    pub required: &'static [&'static str],
    /// Optional fields, each with its default after the name, in brackets, if there is one.
    pub optional: &'static [&'static str],
    pub check_field: CheckField,
    /// The example in the default file.
    pub example: &'static str,
}

impl TableSetting {
    /// "tables [[files.roots]] with name, path and, if wanted, writable (false), max_bytes (16 MiB) and index (false)".
    pub fn expected(&self) -> String {
        let (key, required, optional) = (self.key, self.required.join(", "), enumerated(self.optional));
        format!("tables [[{key}]] with {required} and, if wanted, {optional}")
    }

    /// The names of its fields.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        let name = |field: &'static str| field.split_once(' ').map_or(field, |(name, _)| name);
        self.required.iter().chain(self.optional).map(move |field| name(field))
    }

    /// The tables in the form the settings are read from, or all their faults.
    pub fn check(&self, found: &LocatedValue, tools: &KnownTools, wrong: &mut Vec<Complaint>) -> Option<Value> {
        let Self { key, noun, most, required, .. } = *self;
        let tables = Tables { key, expected: &self.expected(), most, noun, required };
        tables.check(found, wrong, |field, key_at, found| {
            (self.check_field)(field, found, tools).unwrap_or_else(|| {
                let near = meant(field, self.fields());
                Err((key_at, format!("unknown key {} in [[{key}]]{near}", quoted(field))))
            })
        })
    }
}

/// By key, because there is one of each.
impl PartialEq for TableSetting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for TableSetting {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        AgentType, BusSetting, CommandSetting, FileRoot, RouterSetting, SerialPortSetting, SpiDeviceSetting, Webhook,
        keys::KEYS,
        sections::{
            agents::AGENTS, exec::COMMANDS, files::ROOTS, i2c::BUSES, notifications::WEBHOOKS, routeros::ROUTERS,
            serial::PORTS, spi::DEVICES,
        },
    };
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn each_field_that_is_listed_has_a_check_and_no_other() {
        let tables: Vec<_> = KEYS.iter().filter_map(|key| key.kind.tables()).collect();
        assert_eq!(tables.len(), 10);
        for tables in tables {
            for field in tables.fields() {
                assert!((tables.check_field)(field, &LocatedValue::text(""), &[]).is_some(), "{}.{field}", tables.key);
            }
            assert!((tables.check_field)("colour", &LocatedValue::text(""), &[]).is_none(), "{}", tables.key);
        }
    }

    /// The fields of a type, of which `smallest` has the required ones, and those that are left out where they are empty.
    fn fields_of<T: Serialize + DeserializeOwned>(smallest: Value) -> BTreeSet<String> {
        let whole = serde_json::to_value(serde_json::from_value::<T>(smallest).unwrap()).unwrap();
        whole.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_fields_that_are_listed_are_those_of_the_type() {
        let listed = |tables: &TableSetting| tables.fields().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(fields_of::<FileRoot>(json!({"name": "a", "path": "/a"})), listed(&ROOTS));
        assert_eq!(fields_of::<CommandSetting>(json!({"name": "a", "program": "/a"})), listed(&COMMANDS));
        let agent = json!({"type": "a", "kind": "mcp", "program": "/a", "env": {"A": "b"}, "tools": {}});
        assert_eq!(fields_of::<AgentType>(agent), listed(&AGENTS));
        let router = json!({"name": "a", "address": "a:1", "user": "a", "password_file": "/a"});
        assert_eq!(fields_of::<RouterSetting>(router), listed(&ROUTERS));
        assert_eq!(fields_of::<Webhook>(json!({"name": "a", "url": "https://a"})), listed(&WEBHOOKS));
        assert_eq!(fields_of::<BusSetting>(json!({"bus": 1, "addresses": ["0x48"]})), listed(&BUSES));
        assert_eq!(fields_of::<SpiDeviceSetting>(json!({"bus": 0, "chip_select": 0})), listed(&DEVICES));
        assert_eq!(fields_of::<SerialPortSetting>(json!({"name": "ttyUSB0"})), listed(&PORTS));
    }

    #[test]
    fn what_is_expected_names_each_field() {
        let expected = "tables [[files.roots]] with name, path and, if wanted, writable (false), max_bytes (16 MiB) and index (false)";
        assert_eq!(ROOTS.expected(), expected);
    }
}
