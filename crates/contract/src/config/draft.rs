//! Builds the settings: applies assignments to the defaults one by one, and records who set what.

use super::{
    assignment::Assignment,
    fault::{ConfigError, Origin},
    keys::InState,
    kind::KnownTools,
    places::Places,
    prepared::PreparedFolder,
    settings::Settings,
};
use crate::actions::Does;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};

/// Settings as a tree, so that the table of keys can address them by name.
#[derive(Clone)]
pub struct SettingsDraft {
    tree: Value,
    /// The origin of each key's value, with the number of the step.
    set_by: BTreeMap<String, (usize, Origin)>,
    steps: usize,
    /// Where the configuration is read from. Tools must not reach these paths.
    configuration: Vec<PathBuf>,
    /// Whether this is an appliance without an owner.
    unclaimed: bool,
    identity_dir: PathBuf,
}

impl SettingsDraft {
    /// A draft with the defaults.
    ///
    /// # Errors
    /// One fault when a path is not UTF-8.
    pub fn new(places: &Places) -> Result<Self, ConfigError> {
        let tree = serde_json::to_value(Settings::default_for(places)).map_err(|error| {
            ConfigError::new(Origin::Default, format!("the folders raspi-mcp starts from cannot be used: {error}"))
        })?;
        let configuration = vec![places.image_dir.clone(), places.identity_dir.clone(), places.site_dir.clone()];
        // An unreadable state counts as a missing one, which allows nothing additional.
        let standing = PreparedFolder::at(&places.identity_dir).standing().unwrap_or_default();
        let unclaimed = standing.is_some_and(|standing| !standing.claimed);
        Ok(Self {
            tree,
            set_by: BTreeMap::new(),
            steps: 0,
            configuration,
            unclaimed,
            identity_dir: places.identity_dir.clone(),
        })
    }

    /// Adds a path that configuration is read from.
    pub fn reads(&mut self, file: PathBuf) {
        self.configuration.push(file);
    }

    /// All paths that configuration is read from.
    pub fn configuration(&self) -> &[PathBuf] {
        &self.configuration
    }

    /// The origin of a key's value.
    pub fn origin(&self, name: &str) -> Origin {
        self.set_by.get(name).map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// The origin of the last assignment to one of these keys.
    pub fn latest(&self, names: &[&str]) -> Origin {
        let set = names.iter().filter_map(|name| self.set_by.get(*name));
        set.max_by_key(|(step, _)| *step).map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    fn note(&mut self, name: String, origin: &Origin) {
        self.steps += 1;
        self.set_by.insert(name, (self.steps, origin.clone()));
    }

    /// Applies one assignment: later values override earlier ones, tables add up.
    ///
    /// # Errors
    /// One fault for a table, such as a token, whose name is already taken.
    pub fn apply(&mut self, assignment: &Assignment) -> Result<(), ConfigError> {
        let (name, slot) = (assignment.name(), self.slot(assignment));
        match (assignment.key.kind.tables(), slot, &assignment.value) {
            (Some(tables), Value::Array(held), Value::Array(more)) => {
                for table in more {
                    let taken = held.iter().find(|one| one["name"] == table["name"]);
                    if let (true, Some(taken)) = (tables.named, taken) {
                        let what = tables.noun;
                        let message = format!("there is a {what} named {} already; names must differ", taken["name"]);
                        return Err(ConfigError::new(assignment.origin.clone(), message));
                    }
                    held.push(table.clone());
                }
            }
            (_, slot, value) => *slot = value.clone(),
        }
        self.note(name, &assignment.origin);
        Ok(())
    }

    /// Applies an assignment of a state fragment if it narrows the settings.
    ///
    /// # Errors
    /// One fault when it does not.
    pub fn narrow(&mut self, assignment: &Assignment, tools: &KnownTools, site: &str) -> Result<(), ConfigError> {
        let name = assignment.name();
        let by = self.origin(&name);
        let refuse = |what: String| Err(ConfigError::new(assignment.origin.clone(), what));
        let wanted = &assignment.value;
        let held = self.slot(assignment);
        let by = if by == Origin::Default { String::new() } else { format!(" by {by}") };
        match assignment.key.in_state {
            InState::Never => return refuse(format!("a state fragment may not set {name}; set it in {site}")),
            InState::Free => *held = wanted.clone(),
            InState::Lower if wanted.as_i64() <= held.as_i64() => *held = wanted.clone(),
            InState::Lower => {
                return refuse(format!("{name} is {held}{by}; a state fragment may only lower it, not set {wanted}"));
            }
            InState::Off if wanted == &Value::Bool(false) => *held = wanted.clone(),
            InState::Off => return refuse(format!("a state fragment may only switch {name} off; set it in {site}")),
            InState::Fewer => {
                let missing = items(wanted).find(|item| !items(held).any(|one| one == *item));
                if let Some(item) = missing {
                    return refuse(format!(
                        "{name} does not have {item}{by}; a state fragment may only take names away"
                    ));
                }
                *held = wanted.clone();
            }
            InState::More => {
                let more: Vec<Value> =
                    items(wanted).filter(|item| !items(held).any(|one| one == *item)).cloned().collect();
                if let Value::Array(held) = held {
                    held.extend(more);
                }
            }
            InState::Stricter => {
                // Without an entry, an action has the mode of the strictest tool that has it as a main action.
                let does = |tool: &str| {
                    assignment
                        .tool
                        .is_some_and(|name| tool == name || Does::of(tool).is_some_and(|does| does.own.contains(&name)))
                };
                let own = tools.iter().filter(|(tool, _)| does(tool)).map(|(_, mode)| *mode).max();
                let in_force = if held.is_null() { own } else { serde_json::from_value(held.clone()).ok() };
                let mode = serde_json::from_value(wanted.clone()).ok();
                if mode < in_force {
                    let in_force = in_force.and_then(|mode| serde_json::to_value(mode).ok()).unwrap_or_default();
                    return refuse(format!(
                        "{name} is {in_force}{by}; a state fragment may only make it stricter, not {wanted}"
                    ));
                }
                *held = wanted.clone();
            }
        }
        self.note(name, &assignment.origin);
        Ok(())
    }

    /// The assignment's place in the tree, created for a new `policy` entry.
    fn slot(&mut self, assignment: &Assignment) -> &mut Value {
        let name = assignment.key.name;
        let slot = name.split('.').fold(&mut self.tree, |at, part| &mut at[part]);
        match assignment.tool {
            None => slot,
            Some(tool) => &mut slot[tool],
        }
    }

    /// The typed settings.
    ///
    /// # Errors
    /// One fault if a checked value does not fit its type: then the table of keys and the types disagree, which is a
    /// bug.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        let settings = serde_json::from_value(self.tree.clone()).map_err(|error| {
            ConfigError::new(Origin::Default, format!("key table and settings disagree: {error}; report this"))
        })?;
        Ok(Settings { unclaimed: self.unclaimed, identity_dir: self.identity_dir.clone(), ..settings })
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
