//! What was last believed of a channel, in a file, so that a restart does not make an old index new.

use super::Seen;
use crate::bundle::is_word;
use base::{error::ToolError, os::whole};
use std::{
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// What is remembered of the channel called `name`: each its own, or who switches to another and back would forget.
fn file_of(name: &str) -> Option<String> {
    is_word(name).then(|| format!("channel-{name}.json"))
}

/// Ours have 300 bytes.
const LONGEST: u64 = 16 << 10;

/// What is remembered of `channel` in `dir`. What cannot be read is told in the log and forgotten: then the agent's own floors still hold.
pub fn recall(dir: &Path, channel: &str) -> Option<Seen> {
    let path = dir.join(file_of(channel)?);
    let mut text = Vec::new();
    match File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut text)) {
        Ok(_) => serde_json::from_slice(&text)
            .inspect_err(|error| tracing::warn!("{} is not understood and counts as nothing: {error}", path.display()))
            .ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!("{} cannot be read: {error}", path.display());
            None
        }
    }
}

/// Remembers `seen` in `dir`: whole or not at all.
///
/// # Errors
/// `unavailable` when it cannot be written.
pub fn remember(dir: &Path, seen: &Seen) -> Result<(), ToolError> {
    let name = file_of(&seen.channel).ok_or_else(|| ToolError::internal("a channel without a name was believed"))?;
    let path = dir.join(name);
    let write = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let text = serde_json::to_vec(seen)?;
        whole::replace(&path, 0o600, |file| file.write_all(&text))
    };
    write().map_err(|error| {
        ToolError::unavailable(format!("what the channel said cannot be remembered in {}: {error}", path.display()))
            .hint("make room, or see that the server's user can write there")
    })
}
