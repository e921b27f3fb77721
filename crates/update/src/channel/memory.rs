//! The last accepted index of a channel, in a file, so that a restart does not make an old one acceptable.

use super::AcceptedIndex;
use crate::bundle::is_word;
use base::{error::ToolError, os::whole};
use std::{
    fs::{DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

/// One file per channel, so that switching to another one and back forgets nothing.
fn file_of(name: &str) -> Option<String> {
    is_word(name).then(|| format!("channel-{name}.json"))
}

/// Limit of a file in bytes; ours have 300.
const LONGEST: u64 = 16 << 10;

/// What is remembered of `channel` in `dir`. An unreadable file is logged and ignored: the agent's own floors still
/// apply.
pub fn recall(dir: &Path, channel: &str) -> Option<AcceptedIndex> {
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

/// Stores `seen` in `dir` atomically.
///
/// # Errors
/// `unavailable` when it cannot be written.
pub fn remember(dir: &Path, seen: &AcceptedIndex) -> Result<(), ToolError> {
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
