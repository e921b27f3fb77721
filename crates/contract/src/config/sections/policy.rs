//! `[policy]`: modes of single tools and actions; others have their own defaults.

use crate::{
    config::{
        Places,
        key::{InState, Section, SettingKey},
        kind::SettingKind,
    },
    meta::Mode,
};
use std::collections::BTreeMap;

/// The configured modes, by name of a tool or action. The whole map is one key, named like the section.
pub type PolicyModes = BTreeMap<String, Mode>;

impl Section for PolicyModes {
    const ABOUT: &'static str = "What happens when a permitted caller calls a tool: one line per tool.";
    const KEYS: &'static [SettingKey] = &[SettingKey::new(
        "policy",
        SettingKind::Mode,
        InState::Stricter,
        "Mode of a tool or an action (`camera:capture`): `allow` runs it, `ask` runs it once a person has approved \
         this call, `deny` refuses it. The name of a tool stands for its main actions, so its mode applies to every \
         tool with these actions; if several modes apply, the strictest does. `raspi-mcp tools --policy` prints the \
         modes in force, docs/policy.md the defaults.",
    )];

    fn default_for(_places: &Places) -> Self {
        Self::new()
    }
}
