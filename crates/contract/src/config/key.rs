//! What is known of a setting beside its value: one [`Key`] each, made by its declaration (`declare.rs`).

use super::{kind::Kind, places::Places};

/// One setting a person can write.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `section.key`, or the key alone at the top level. `policy` stands for every `policy.<tool>`.
    pub name: &'static str,
    pub kind: Kind,
    /// What a fragment in the state folder may do with it.
    pub in_state: InState,
    /// One or two sentences for a person, ending with a full stop.
    pub doc: &'static str,
}

impl Key {
    /// `doc` is a doc comment: each of its lines begins with a space.
    pub const fn new(name: &'static str, kind: Kind, in_state: InState, doc: &'static str) -> Self {
        Self { name, kind, in_state, doc: doc.trim_ascii() }
    }
}

/// A section of the file, as the documentation has it.
#[derive(Clone, Copy, Debug)]
pub struct SectionInfo {
    /// Empty for the top level.
    pub name: &'static str,
    /// What the documentation says above its keys.
    pub about: &'static str,
    /// In the order of the documentation.
    pub keys: &'static [Key],
}

/// The settings of one section. `section!` implements it.
pub trait Section: Sized {
    /// What the documentation says above its keys.
    const ABOUT: &'static str;
    /// Its keys, in the order of the documentation.
    const KEYS: &'static [Key];

    /// What holds when nobody sets anything.
    fn default_for(places: &Places) -> Self;
}

/// What the server may do to itself: a fragment it wrote can narrow what the image and the site said, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InState {
    /// Not allowed there.
    Never,
    /// Allows or forbids nothing, so it may be set.
    Free,
    /// A number no larger than the one in force.
    Lower,
    /// Only `false`.
    Off,
    /// Some of the names in force.
    Fewer,
    /// More names, added to those in force.
    More,
    /// A stricter mode than the one in force.
    Stricter,
}

impl InState {
    /// How the documentation says it.
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
