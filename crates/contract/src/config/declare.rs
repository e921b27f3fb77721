//! One declaration per setting. It creates the field of the typed settings, its default, its row in the list of keys
//! with the check of a single value, and its line in `docs/configuration.md` and `dist/raspi-mcp.toml`.
//!
//! ```text
//! section! {
//!     /// How long a request for approval stays open.      what the documentation says above the keys of [approval]
//!     [approval] pub struct Approval {
//!         /// How long a call waits for the answer.        what it says of the key; also the documentation of the field
//!         wait_seconds: u64 = 20, seconds(0, 300), InState::Lower;
//!     //  the key       type  default  what is   what a fragment in the
//!     //                               accepted  state folder may do
//!     }
//! }
//! ```
//!
//! Comments with `//` are for programmers only. Rules between several keys are in `together.rs` and next to the
//! sections.

/// Declares a section: a struct with [`Section`](super::key::Section) and `Default`. With `given places` after the name
/// of the struct, its defaults can use the [`Places`](super::places::Places); then there is no `Default`.
macro_rules! section {
    ($(#[doc = $about:literal])+ [$section:ident] pub struct $Section:ident given $places:ident { $($keys:tt)* }) => {
        $crate::config::declare::section!(@struct $Section, [$($about),+] { $($keys)* });
        $crate::config::declare::section!(@keys $Section, $section, [$($about),+], $places { $($keys)* });
    };
    ($(#[doc = $about:literal])+ [$section:ident] pub struct $Section:ident { $($keys:tt)* }) => {
        $crate::config::declare::section!(@struct $Section, [$($about),+] { $($keys)* });
        $crate::config::declare::section!(@keys $Section, $section, [$($about),+], _places { $($keys)* });

        impl Default for $Section {
            fn default() -> Self {
                // The same for all places.
                <Self as $crate::config::key::Section>::default_for(&$crate::config::Places::system())
            }
        }
    };
    (@struct $Section:ident, [$($about:literal),+] {
        $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $kind:expr, $in_state:expr;)*
    }) => {
        $(#[doc = $about])+
        #[allow(rustdoc::bare_urls)] // The same text goes to Markdown tables and the default file.
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $Section {
            $($(#[doc = $doc])+ pub $key: $type,)*
        }
    };
    (@keys $Section:ident, $section:ident, [$($about:literal),+], $places:ident {
        $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $kind:expr, $in_state:expr;)*
    }) => {
        impl $crate::config::key::Section for $Section {
            const ABOUT: &'static str = concat!($($about),+).trim_ascii();
            const KEYS: &'static [$crate::config::key::SettingKey] = &[$($crate::config::key::SettingKey::new(
                concat!(stringify!($section), ".", stringify!($key)),
                $kind,
                $in_state,
                concat!($($doc),+),
            ),)*];

            fn default_for($places: &$crate::config::Places) -> Self {
                Self { $($key: $default,)* }
            }
        }
    };
}

/// Declares the values of a setting that is one of several words: an enum, and the
/// [`SettingKind`](super::kind::SettingKind) that accepts them.
macro_rules! choice {
    ($(#[doc = $about:literal])+ pub enum $Choice:ident {
        $($(#[doc = $doc:literal])* $Variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $Choice {
            $($(#[doc = $doc])* #[serde(rename = $word)] $Variant,)+
        }

        impl $Choice {
            /// The accepted words.
            pub const KIND: $crate::config::kind::SettingKind = $crate::config::kind::SettingKind::Choice(&[$($word),+]);
        }
    };
}

/// Declares all settings: the keys of the top level as in [`section!`], the sections by their names in the file, and
/// under `beside` fields that are not settings and are never written.
macro_rules! settings {
    (
        $(#[doc = $whole:literal])+
        pub struct $Settings:ident given $places:ident;

        $(#[doc = $about:literal])+
        [] { $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $kind:expr, $in_state:expr;)* }
        $([$section:ident] $Section:ty;)*
        beside { $($(#[doc = $other_doc:literal])+ $other:ident: $other_type:ty = $other_default:expr;)* }
    ) => {
        $(#[doc = $whole])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $Settings {
            $($(#[doc = $doc])+ pub $key: $type,)*
            $(#[doc = concat!("`[", stringify!($section), "]`.")] pub $section: $Section,)*
            $($(#[doc = $other_doc])+ #[serde(skip)] pub $other: $other_type,)*
        }

        impl $Settings {
            /// Every section with its keys, in the order of the documentation; the first one is the top level.
            pub(super) const SECTIONS: &'static [$crate::config::key::SectionInfo] = &[
                $crate::config::key::SectionInfo {
                    name: "",
                    about: concat!($($about),+).trim_ascii(),
                    keys: &[$($crate::config::key::SettingKey::new(stringify!($key), $kind, $in_state, concat!($($doc),+)),)*],
                },
                $($crate::config::key::SectionInfo {
                    name: stringify!($section),
                    about: <$Section as $crate::config::key::Section>::ABOUT,
                    keys: <$Section as $crate::config::key::Section>::KEYS,
                },)*
            ];

            /// The settings without any configuration.
            pub fn default_for($places: &$crate::config::Places) -> Self {
                Self {
                    $($key: $default,)*
                    $($section: <$Section as $crate::config::key::Section>::default_for($places),)*
                    $($other: $other_default,)*
                }
            }
        }
    };
}

pub(super) use {choice, section, settings};
