//! The description of a setting: one [`SettingKey`] each, made by its declaration (`declare.rs`).

use super::{kind::SettingKind, places::Places};

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    /// `section.key`, or the key alone at the top level. `policy` stands for every `policy.<tool>`.
    pub name: &'static str,
    pub kind: SettingKind,
    /// What a fragment in the state folder may do to it.
    pub in_state: InState,
    /// One or two sentences for the documentation, ending with a full stop.
    pub doc: &'static str,
}

impl SettingKey {
    /// `doc` is a doc comment: each of its lines begins with a space.
    pub const fn new(name: &'static str, kind: SettingKind, in_state: InState, doc: &'static str) -> Self {
        Self { name, kind, in_state, doc: doc.trim_ascii() }
    }
}

/// A section of the file and of the documentation.
#[derive(Clone, Copy, Debug)]
pub struct SectionInfo {
    /// Empty for the top level.
    pub name: &'static str,
    /// The text above its keys in the documentation.
    pub about: &'static str,
    /// In the order of the documentation.
    pub keys: &'static [SettingKey],
}

/// The settings of one section. `section!` implements it.
pub trait Section: Sized {
    /// The text above its keys in the documentation.
    const ABOUT: &'static str;
    /// Its keys, in the order of the documentation.
    const KEYS: &'static [SettingKey];

    /// The section without any configuration.
    fn default_for(places: &Places) -> Self;
}

/// What a fragment in the state folder, which the server writes, may do to a setting: only narrow what the image and
/// the site allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InState {
    /// Must not set it.
    Never,
    /// May set any value, because it neither allows nor forbids anything.
    Free,
    /// May set a number no larger than the one in force.
    Lower,
    /// May set `false` only.
    Off,
    /// May set a subset of the names in force.
    Fewer,
    /// May add names to those in force.
    More,
    /// May set the mode in force or a stricter one.
    Stricter,
}

impl InState {
    /// The text in the documentation.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Never => "no",
            Self::Free => "yes",
            Self::Lower => "only lower",
            Self::Off => "only `false`",
            Self::Fewer => "only fewer",
            Self::More => "added to the others",
            Self::Stricter => "only stricter",
        }
    }
}
