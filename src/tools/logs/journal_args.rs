//! Arguments of `logs.query_journal`: types that exclude values which journalctl would interpret as something else.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, time::Duration};

/// A string type whose characters are checked, with the same rule as a schema.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $longest:literal, $pattern:literal, $what:literal, $fits:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            pub fn into_text(self) -> String {
                self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                let fits: fn(char) -> bool = $fits;
                if (1..=$longest).contains(&text.chars().count()) && text.chars().all(fits) {
                    Ok(Self(text))
                } else {
                    Err($what.into())
                }
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": $longest, "pattern": $pattern })
            }
        }
    };
}

checked_text! {
    /// A unit name, with or without `.service`, which may have to be added. No `*`, `?` or `[`: journalctl would match
    /// several units.
    UnitName, 247, r"^[A-Za-z0-9:_.\\@-]+$",
    "a unit name has 1 to 247 of the letters A-Z a-z 0-9 : _ . \\ @ -",
    |letter| letter.is_ascii_alphanumeric() || matches!(letter, ':' | '_' | '.' | '\\' | '@' | '-')
}

checked_text! {
    /// A regular expression; journalctl limits its running time.
    Pattern, 256, r"^[^\x00-\x1f\x7f]+$",
    "a pattern has 1 to 256 letters, none of them a control character",
    |letter| !letter.is_ascii_control()
}

checked_text! {
    /// The end of a page, as journald's cursor.
    Cursor, 256, "^[a-z0-9=;]+$",
    "a cursor is the next_cursor of an answer, unchanged",
    |letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '=' | ';')
}

impl UnitName {
    /// Whether it names this server's own service.
    pub fn is_ours(&self) -> bool {
        matches!(self.0.as_str(), "raspi-mcp" | "raspi-mcp.service")
    }
}

/// Severities as the journal names them, most severe first (syslog(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Priority {
    Emerg,
    Alert,
    Crit,
    Err,
    Warning,
    Notice,
    Info,
    Debug,
}

impl Priority {
    const ALL: [Self; 8] =
        [Self::Emerg, Self::Alert, Self::Crit, Self::Err, Self::Warning, Self::Notice, Self::Info, Self::Debug];

    /// 0 to 7.
    pub const fn number(self) -> u8 {
        self as u8
    }
    /// As it is serialised.
    pub const fn name(self) -> &'static str {
        ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"][self as usize]
    }
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// How long to follow, at most five minutes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u16")]
pub struct Seconds(u16);

/// In seconds. A client that wants to follow for longer has better means.
const LONGEST: u16 = 300;

impl Seconds {
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

impl TryFrom<u16> for Seconds {
    type Error = String;
    fn try_from(seconds: u16) -> Result<Self, String> {
        if (1..=LONGEST).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(format!("{seconds} seconds are outside 1..={LONGEST}"))
        }
    }
}

impl JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": LONGEST })
    }
}
