//! `files.*`: files in the folders opened by the configuration (`[[files.roots]]`) only.
//!
//! The server does this with its own user's rights, without the agent. `place` maps a path to a root and a relative
//! path; [`base::os::beneath`] lets the kernel resolve it.

pub(super) mod content;
mod delete;
mod list;
mod place;
mod put;
mod reach;
mod read;
mod remove;
mod visit;
mod whole;
mod write;

use crate::registry::row::ToolRow;
use base::clock;
use rustix::fs::Stat;
use serde::{Deserialize, Deserializer, de::Error};
use time::OffsetDateTime;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<read::Read>(),
    ToolRow::of::<list::List>(),
    ToolRow::of::<write::Write>(),
    ToolRow::of::<delete::Delete>(),
];

/// A string of at most `MAX` characters, or null: enforces `maxLength` in the parser.
///
/// # Errors
/// A sentence naming the limit.
pub fn bounded_or_null<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    match text.as_ref().map_or(0, |text| text.chars().count()) {
        n if n <= MAX => Ok(text),
        n => Err(D::Error::custom(format!("{n} characters where at most {MAX} are allowed"))),
    }
}

/// The time of the last change of its contents.
fn mtime(about: &Stat) -> String {
    let nanos = i128::from(about.st_mtime) * 1_000_000_000 + i128::from(about.st_mtime_nsec);
    clock::stamp(OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

/// Its size in bytes.
fn size(about: &Stat) -> u64 {
    u64::try_from(about.st_size).unwrap_or_default()
}
