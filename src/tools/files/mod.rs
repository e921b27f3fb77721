//! `files.*`: files in the folders that the configuration opens (`[[files.roots]]`), and nowhere else.
//!
//! The server does this with its own user's rights; the agent has no part in it. `place` turns a path into a root and names
//! below it, [`base::os::beneath`] has the kernel resolve them.

mod content;
mod delete;
mod list;
mod place;
mod put;
mod reach;
mod read;
mod remove;
mod walk;
mod whole;
mod write;

use crate::registry::tool::Entry;
use base::clock;
use rustix::fs::Stat;
use serde::{Deserialize, Deserializer, de::Error};
use time::OffsetDateTime;

pub static TOOLS: &[Entry] =
    &[Entry::of::<read::Read>(), Entry::of::<list::List>(), Entry::of::<write::Write>(), Entry::of::<delete::Delete>()];

/// A text of at most `MAX` characters, or null: the parser's half of `maxLength`.
///
/// # Errors
/// A sentence naming the bound.
pub fn bounded_or_null<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    match text.as_ref().map_or(0, |text| text.chars().count()) {
        n if n <= MAX => Ok(text),
        n => Err(D::Error::custom(format!("{n} characters where at most {MAX} are allowed"))),
    }
}

/// When it was last written.
fn mtime(about: &Stat) -> String {
    let nanos = i128::from(about.st_mtime) * 1_000_000_000 + i128::from(about.st_mtime_nsec);
    clock::stamp(OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

/// Its size in bytes.
fn size(about: &Stat) -> u64 {
    u64::try_from(about.st_size).unwrap_or_default()
}
