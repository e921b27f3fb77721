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
    const ABOUT: &'static str = "What happens when a tool is called by somebody who may call it: one line a tool.";
    const KEYS: &'static [SettingKey] = &[SettingKey::new(
        "policy",
        SettingKind::Mode,
        InState::Stricter,
        "Of a tool or an action (`camera:capture`): `allow` runs it, `ask` runs it once a person has approved this \
         very call, `deny` refuses it. The name of a tool stands for what it is there for, so the word holds for \
         every tool that does it; of several the strictest counts. `raspi-mcp tools --policy` prints what holds \
         without any line here.",
    )];

    fn default_for(_places: &Places) -> Self {
        Self::new()
    }
}
