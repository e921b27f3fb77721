//! What tools do. Policy applies to actions, not only to names: with `camera.capture` denied, no tool takes a picture.
//!
//! A tool's name in a policy stands for its main actions (`own`). A call is judged by all its actions, including side
//! effects (`also`), and by the strictest entry for any of them. Server and agent use this table, each with its own
//! configuration. That holds for reads as well: an answer of which a part is what an action reads leaves that part out
//! where the action may not run ([`SHOWS`]).

mod shows;
mod table;

pub use shows::{SHOWS, is_declared};
pub use table::{ACTIONS, DOES};

use super::meta::Mode;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The actions of one tool.
#[derive(Clone, Copy, Debug)]
pub struct Does {
    pub tool: &'static str,
    /// Its main actions, for which its name in a policy stands.
    pub own: &'static [&'static str],
    /// Its side effects.
    pub also: &'static [&'static str],
    /// Its calls are refused while the machine is halted (docs/halt.md): it changes something, and is not needed to
    /// make the machine safe or to repair it.
    pub halts: bool,
    /// The actions of each kind of call, if they depend on the arguments. Empty: every call does all of them.
    kinds: &'static [&'static [&'static str]],
    /// The kind of a call with these arguments. `None`: unknown, so all actions are assumed.
    kind: fn(&Value) -> Option<usize>,
}

impl Does {
    /// The tool's row, if it has one.
    pub fn of(tool: &str) -> Option<&'static Self> {
        DOES.iter().find(|does| does.tool == tool)
    }

    /// All its actions.
    pub fn all(&self) -> Vec<&'static str> {
        self.own.iter().chain(self.also).copied().collect()
    }

    /// The actions of its calls, one entry per kind of call.
    pub fn kinds(&self) -> Vec<Vec<&'static str>> {
        if self.kinds.is_empty() { vec![self.all()] } else { self.kinds.iter().map(|kind| kind.to_vec()).collect() }
    }
}

/// The actions of a call of `tool` with `args`.
pub fn of_call(tool: &str, args: &Value) -> Vec<&'static str> {
    let Some(does) = Does::of(tool) else { return Vec::new() };
    match (does.kind)(args).and_then(|kind| does.kinds.get(kind)) {
        Some(kind) => kind.to_vec(),
        None => does.all(),
    }
}

/// Whether `name` is the name of an action.
pub fn is_action(name: &str) -> bool {
    ACTIONS.iter().any(|(action, _)| *action == name)
}

/// The entries of a configuration: `policy` and `tools.disable`.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    pub modes: &'a BTreeMap<String, Mode>,
    /// Tools, actions and namespaces that are off.
    pub disabled: &'a BTreeSet<String>,
}

/// A mode and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'a> {
    pub mode: Mode,
    /// The tool, action or namespace of the configuration's entry; `None`: the default.
    pub name: Option<&'a str>,
    /// From `tools.disable`, not from `policy`.
    pub disabled: bool,
}

impl Ruling<'_> {
    /// Its source, for people: `policy."camera:capture"`.
    pub fn source(&self) -> Option<String> {
        let name = self.name?;
        Some(if self.disabled { format!("tools.disable has \"{name}\"") } else { format!("policy.\"{name}\"") })
    }
}

impl<'a> Words<'a> {
    /// The mode of a call of `tool` with `args`; `silent` if there is no entry.
    pub fn judge(&self, tool: &str, args: &Value, silent: Mode) -> Ruling<'a> {
        if self.modes.is_empty() && self.disabled.is_empty() {
            return Ruling { mode: silent, name: None, disabled: false };
        }
        self.judge_actions(tool, &of_call(tool, args), silent)
    }

    /// The mode of the least restricted call of `tool`. If that is denied, every call is.
    pub fn judge_mildest(&self, tool: &str, silent: Mode) -> Ruling<'a> {
        let kinds = Does::of(tool).map_or_else(|| vec![Vec::new()], Does::kinds);
        let rulings = kinds.iter().map(|actions| self.judge_actions(tool, actions, silent));
        rulings.min_by_key(|ruling| ruling.mode).unwrap_or(Ruling { mode: silent, name: None, disabled: false })
    }

    /// The mode of a call of `tool` that does exactly these actions.
    pub fn judge_actions(&self, tool: &str, actions: &[&'static str], silent: Mode) -> Ruling<'a> {
        let own = self.about(tool).or_else(|| {
            // Entries for all its actions together count as one for the tool.
            let words: Vec<Ruling<'a>> = actions.iter().filter_map(|action| self.about(action)).collect();
            let all = !actions.is_empty() && words.len() == actions.len();
            words.into_iter().max_by_key(|word| word.mode).filter(|_| all)
        });
        let own = own.unwrap_or(Ruling { mode: silent, name: None, disabled: false });
        let doers = DOES.iter().filter(|does| does.own.iter().any(|action| actions.contains(action)));
        let said = actions.iter().copied().chain(doers.map(|does| does.tool)).filter_map(|name| self.about(name));
        // Among equally strict entries, the tool's own is named.
        said.fold(own, |strictest, word| if word.mode > strictest.mode { word } else { strictest })
    }

    /// Whether what this action reads may be part of an answer to another call: no entry denies it or has a person asked
    /// first, for the action or for a tool that is there for it.
    pub fn lets(&self, action: &'static str) -> bool {
        self.judge_actions("", &[action], Mode::Allow).mode == Mode::Allow
    }

    /// The entry for a tool or an action by its own name, or for the tool's namespace.
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
