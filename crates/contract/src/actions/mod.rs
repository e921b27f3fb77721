//! What tools do. A policy is about that, and not about a name: with `camera.capture` denied nothing takes a picture.
//!
//! The name of a tool in a policy stands for the actions it is there for (`own`). A call is judged by all that it does, side effects
//! (`also`) among them, and by the strictest word about any of it. Both halves judge by this table, each with its own configuration.

mod table;

pub use table::{ACTIONS, DOES};

use super::meta::Mode;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a tool does.
#[derive(Clone, Copy, Debug)]
pub struct Does {
    pub tool: &'static str,
    /// What it is there for: its name in a policy stands for these.
    pub own: &'static [&'static str],
    /// What it does besides.
    pub also: &'static [&'static str],
    /// The kinds of calls, where that depends on the arguments: what each does. None: every call does all of it.
    kinds: &'static [&'static [&'static str]],
    /// Which kind a call with these arguments is. `None`: nobody knows, so it counts as doing everything.
    kind: fn(&Value) -> Option<usize>,
}

impl Does {
    /// Its row, if it has one.
    pub fn of(tool: &str) -> Option<&'static Self> {
        DOES.iter().find(|does| does.tool == tool)
    }

    /// Every action it may be used for.
    pub fn all(&self) -> Vec<&'static str> {
        self.own.iter().chain(self.also).copied().collect()
    }

    /// What calls may do, one entry a kind of call.
    pub fn kinds(&self) -> Vec<Vec<&'static str>> {
        if self.kinds.is_empty() { vec![self.all()] } else { self.kinds.iter().map(|kind| kind.to_vec()).collect() }
    }
}

/// What a call of `tool` with `args` does.
pub fn of_call(tool: &str, args: &Value) -> Vec<&'static str> {
    let Some(does) = Does::of(tool) else { return Vec::new() };
    match (does.kind)(args).and_then(|kind| does.kinds.get(kind)) {
        Some(kind) => kind.to_vec(),
        None => does.all(),
    }
}

/// Whether that is the name of an action.
pub fn is_action(name: &str) -> bool {
    ACTIONS.iter().any(|(action, _)| *action == name)
}

/// What a configuration says: `policy` and `tools.disable`.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    pub modes: &'a BTreeMap<String, Mode>,
    /// Tools, actions and namespaces that are off.
    pub disabled: &'a BTreeSet<String>,
}

/// A mode and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'a> {
    pub mode: Mode,
    /// The tool, action or namespace that the configuration says it about; `None`: by default.
    pub name: Option<&'a str>,
    /// Said by `tools.disable`, not by `policy`.
    pub disabled: bool,
}

impl Ruling<'_> {
    /// Where it comes from, for people: `policy."camera:capture"`.
    pub fn source(&self) -> Option<String> {
        let name = self.name?;
        Some(if self.disabled { format!("tools.disable has \"{name}\"") } else { format!("policy.\"{name}\"") })
    }
}

impl<'a> Words<'a> {
    /// What holds for a call of `tool` with `args`; `silent` where nothing is said.
    pub fn judge(&self, tool: &str, args: &Value, silent: Mode) -> Ruling<'a> {
        if self.modes.is_empty() && self.disabled.is_empty() {
            return Ruling { mode: silent, name: None, disabled: false };
        }
        self.judge_actions(tool, &of_call(tool, args), silent)
    }

    /// What holds for the mildest call of `tool`: where that is denied, every call is.
    pub fn judge_mildest(&self, tool: &str, silent: Mode) -> Ruling<'a> {
        let kinds = Does::of(tool).map_or_else(|| vec![Vec::new()], Does::kinds);
        let rulings = kinds.iter().map(|actions| self.judge_actions(tool, actions, silent));
        rulings.min_by_key(|ruling| ruling.mode).unwrap_or(Ruling { mode: silent, name: None, disabled: false })
    }

    /// What holds for a call of `tool` that does just these actions.
    pub fn judge_actions(&self, tool: &str, actions: &[&'static str], silent: Mode) -> Ruling<'a> {
        let own = self.about(tool).or_else(|| {
            // Words about all that it does stand for one about the tool.
            let words: Vec<Ruling<'a>> = actions.iter().filter_map(|action| self.about(action)).collect();
            let all = !actions.is_empty() && words.len() == actions.len();
            words.into_iter().max_by_key(|word| word.mode).filter(|_| all)
        });
        let own = own.unwrap_or(Ruling { mode: silent, name: None, disabled: false });
        let doers = DOES.iter().filter(|does| does.own.iter().any(|action| actions.contains(action)));
        let said = actions.iter().copied().chain(doers.map(|does| does.tool)).filter_map(|name| self.about(name));
        // Of equal words the tool's own is named.
        said.fold(own, |strictest, word| if word.mode > strictest.mode { word } else { strictest })
    }

    /// What is said about a tool or an action by its own name, or about the tool's namespace.
    fn about(&self, name: &str) -> Option<Ruling<'a>> {
        let namespace = name.split_once('.').map_or(name, |(namespace, _)| namespace);
        let disabled = self.disabled.get(name).or_else(|| self.disabled.get(namespace));
        if let Some(name) = disabled {
            return Some(Ruling { mode: Mode::Deny, name: Some(name), disabled: true });
        }
        let (name, mode) = self.modes.get_key_value(name)?;
        Some(Ruling { mode: *mode, name: Some(name), disabled: false })
    }
}
