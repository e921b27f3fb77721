//! Turns written entries into checked assignments of a key, a value and an origin.

use super::{
    fault::{ConfigError, Origin, TextPosition},
    found::{ConfigEntry, LocatedValue, UncheckedValue, quoted},
    keys::{self, KEYS, SECTIONS, SettingKey, section_of},
    kind::KnownTools,
};
use crate::actions::ACTIONS;
use base::nearest::nearest;
use serde_json::Value;
use std::collections::BTreeSet;

/// One key, or one tool or action of `policy`, with a checked value.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub key: &'static SettingKey,
    /// The tool or action, for `policy`.
    pub tool: Option<&'static str>,
    pub value: Value,
    pub origin: Origin,
}

impl Assignment {
    /// The key as written in a file.
    pub fn name(&self) -> String {
        self.tool.map_or_else(|| self.key.name.to_owned(), |tool| format!("policy.{tool}"))
    }
}

/// The names of all actions.
fn actions() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().map(|(action, _)| *action)
}

/// The assignments of one source, and all its faults.
pub struct SourceAssignments<'a> {
    tools: &'a KnownTools,
    origin: Origin,
    pub assignments: Vec<Assignment>,
    pub faults: Vec<ConfigError>,
    /// The sections with a key or value that is not understood; of the top level, the keys themselves.
    pub faulty_sections: BTreeSet<String>,
}

/// The section of a key, known or not; of the top level, the key itself.
pub fn part_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(section, _)| section)
}

impl<'a> SourceAssignments<'a> {
    pub fn of(origin: Origin, tools: &'a KnownTools) -> Self {
        Self { tools, origin, assignments: Vec::new(), faults: Vec::new(), faulty_sections: BTreeSet::new() }
    }

    pub fn fault(&mut self, at: Option<TextPosition>, message: impl Into<String>) {
        self.faults.push(ConfigError::new(self.origin.at(at), message));
    }

    /// Reads the entries below `section` (empty: the top level).
    pub fn table(&mut self, section: &str, entries: &[ConfigEntry]) {
        for ConfigEntry { key, key_at, found } in entries {
            let name = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
            match &found.value {
                // `policy.system.reboot = "ask"` without quotes around the tool is a table in a table.
                UncheckedValue::Table(inner) if keys::is_section(&name) || name.starts_with("policy.") => {
                    self.table(&name, inner);
                }
                _ if keys::is_section(&name) => {
                    self.faulty_sections.insert(name.clone());
                    self.fault(
                        *key_at,
                        format!("{name} is a section, not a value; write [{name}] and its keys below it"),
                    );
                }
                // A misspelt section: its keys are checked one by one, because the hint for a key is better than one
                // for the section.
                UncheckedValue::Table(inner) if keys::find(&name).is_none() && !inner.is_empty() => {
                    self.table(&name, inner)
                }
                _ => self.value(&name, *key_at, found),
            }
        }
    }

    /// Checks one value for the key called `name`.
    pub fn value(&mut self, name: &str, key_at: Option<TextPosition>, found: &LocatedValue) {
        let faults = self.faults.len();
        self.checked(name, key_at, found);
        if self.faults.len() > faults {
            self.faulty_sections.insert(part_of(name).to_owned());
        }
    }

    fn checked(&mut self, name: &str, key_at: Option<TextPosition>, found: &LocatedValue) {
        let Some(key) = keys::find(name).filter(|_| name != "policy") else {
            let hint = self.unknown(name);
            return self.fault(key_at, format!("unknown key {}{hint}", quoted(name)));
        };
        let tool = match name.strip_prefix("policy.") {
            None => None,
            Some(wanted) => match self.tools.iter().find(|(tool, _)| *tool == wanted) {
                Some((tool, _)) => Some(*tool),
                None if let Some(action) = actions().find(|action| *action == wanted) => Some(action),
                None => {
                    let names = self.tools.iter().map(|(tool, _)| *tool).chain(actions());
                    let hint = nearest(wanted, names).map_or_else(
                        || "; \"raspi-mcp tools --policy\" lists them".to_owned(),
                        |tool| match self.origin {
                            Origin::Variable(_) => {
                                format!("; did you mean {}?", variable_of(&format!("policy.{tool}")))
                            }
                            _ => format!("; did you mean {}?", quoted(tool)),
                        },
                    );
                    return self.fault(key_at, format!("unknown tool {} in policy{hint}", quoted(wanted)));
                }
            },
        };
        let mut wrong = Vec::new();
        let value = key.kind.check(name, found, self.tools, &mut wrong);
        for (at, message) in wrong {
            self.fault(at, message);
        }
        if let Some(value) = value {
            self.assignments.push(Assignment { key, tool, value, origin: self.origin.at(key_at.or(found.at)) });
        }
    }

    /// The hint after an unknown key: the nearest key, or those of its section.
    fn unknown(&self, name: &str) -> String {
        if name == "policy" {
            return "; it is set for one tool at a time, as policy.<tool>".into();
        }
        if let Some(near) = nearest(name, KEYS.iter().map(|key| key.name)) {
            return match self.origin {
                Origin::Variable(_) => format!("; did you mean {}?", variable_of(near)),
                _ => format!("; did you mean {}?", quoted(near)),
            };
        }
        let section = name.split('.').next().filter(|section| keys::is_section(section));
        let offered: Vec<&str> = match section {
            Some(section) => KEYS.iter().filter_map(|key| key.name.strip_prefix(section)?.strip_prefix('.')).collect(),
            None => SECTIONS.iter().map(|section| section.name).filter(|section| !section.is_empty()).collect(),
        };
        match section {
            Some(section) => format!("; [{section}] has {}", offered.join(", ")),
            None => {
                let top: Vec<&str> =
                    KEYS.iter().map(|key| key.name).filter(|name| section_of(name).is_empty()).collect();
                format!("; at the top level there are {}, then the sections {}", top.join(", "), offered.join(", "))
            }
        }
    }
}

/// The prefix of every environment variable.
pub const PREFIX: &str = "RASPI_MCP__";

/// `limits.max_depth` as `RASPI_MCP__LIMITS__MAX_DEPTH`.
pub fn variable_of(name: &str) -> String {
    format!("{PREFIX}{}", name.replace('.', "__").to_uppercase())
}

/// Reads one environment variable or flag; `name` is the dotted key.
pub fn from_text(name: &str, text: &str, origin: Origin, tools: &KnownTools) -> (Vec<Assignment>, Vec<ConfigError>) {
    let mut reading = SourceAssignments::of(origin, tools);
    match keys::find(name) {
        Some(key) if key.kind.tables().is_some_and(|tables| tables.secret) => {
            reading.fault(None, format!("{name} can only be set in a file, where others cannot read it"));
        }
        Some(key) if key.kind.is_tables() => {
            reading.fault(None, format!("{name} can only be set in a file: it is {}", key.kind.expected()));
        }
        Some(key) if name != "policy" => reading.value(name, None, &key.kind.read_text(text)),
        _ => reading.value(name, None, &LocatedValue::text(text)),
    }
    (reading.assignments, reading.faults)
}
