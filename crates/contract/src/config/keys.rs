//! The list of all keys, by section, as the sections declare them. Parsing, bounds, suggestions,
//! `docs/configuration.md` and the default file use this list.

pub use super::{
    key::{InState, SectionInfo, SettingKey},
    words::NAMESPACES,
};
use super::{kind::SettingKind, settings::Settings};

/// The sections of the file, in the order of the documentation. The first is the top level.
pub const SECTIONS: &[SectionInfo] = Settings::SECTIONS;

/// Every key, by section, in the order of the documentation.
pub const KEYS: &[SettingKey] = &joined::<{ count(SECTIONS) }>(SECTIONS);

const fn count(sections: &[SectionInfo]) -> usize {
    let (mut count, mut section) = (0, 0);
    while section < sections.len() {
        count += sections[section].keys.len();
        section += 1;
    }
    count
}

/// The keys of all sections in one list; `COUNT` is [`count`] of them.
const fn joined<const COUNT: usize>(sections: &[SectionInfo]) -> [SettingKey; COUNT] {
    let mut all = [SettingKey::new("", SettingKind::Bool, InState::Never, ""); COUNT];
    let (mut at, mut section) = (0, 0);
    while section < sections.len() {
        let keys = sections[section].keys;
        let mut key = 0;
        while key < keys.len() {
            all[at] = keys[key];
            at += 1;
            key += 1;
        }
        section += 1;
    }
    all
}

/// The key called `name`; for `policy.<tool>` that is `policy`.
pub fn find(name: &str) -> Option<&'static SettingKey> {
    let wanted = if name.starts_with("policy.") { "policy" } else { name };
    KEYS.iter().find(|key| key.name == wanted)
}

/// Whether `name` is a section.
pub fn is_section(name: &str) -> bool {
    SECTIONS.iter().any(|section| !section.name.is_empty() && section.name == name)
}

/// The part before the dot; empty for a top-level key.
pub fn section_of(name: &'static str) -> &'static str {
    match name.split_once('.') {
        Some((section, _)) => section,
        None if is_section(name) => name,
        None => "",
    }
}
