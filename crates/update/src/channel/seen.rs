//! The last accepted index of a channel, and the highest number that each key has signed.
//!
//! An index must have a higher number than all that the keys of the root's channel role have signed so far, and must
//! not be older than any of them. When the next root removes a key, its numbers no longer count, but its times do. So a
//! thief of a key who signed the highest possible number has frozen the channel only until then, and no older index is
//! accepted, whatever key signed it.

use crate::bundle::Digest;
use serde::{Deserialize, Serialize};

/// The newest accepted index of a channel. Kept, so that no older one is accepted after it. The release in the other slot may have written it:
/// unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Seen")]
pub struct AcceptedIndex {
    pub product: String,
    pub channel: String,
    pub sequence: u64,
    /// Seconds since 1970, as the index says.
    pub created: u64,
    /// SHA-256 of the signed text.
    pub sha256: Digest,
    /// Milliseconds since 1970, by this machine's clock: when it was last checked.
    pub checked_ms: i64,
    /// One per key that has signed something; at most 32. Empty in a file of an earlier version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<KeyWatermark>,
}

/// The highest index that a key has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Mark")]
pub struct KeyWatermark {
    /// Its id.
    pub key: Digest,
    pub sequence: u64,
    /// Seconds since 1970; capped at the time it was seen, if the clock was set.
    pub created: u64,
    pub sha256: Digest,
}

/// Limit of marks: two roots' worth.
const MOST: usize = 32;

impl AcceptedIndex {
    /// The mark of each key. A file of an earlier version does not say who signed: it counts for all `keys` of the
    /// role, and its number only if it is possible for an index.
    pub(super) fn known(&self, keys: &[Digest]) -> Vec<KeyWatermark> {
        if !self.marks.is_empty() {
            return self.marks.clone();
        }
        let Self { created, sha256, .. } = *self;
        let sequence = if self.sequence <= created { self.sequence } else { 0 };
        keys.iter().map(|&key| KeyWatermark { key, sequence, created, sha256 }).collect()
    }

    /// Merges with `kept`, which another check may have stored meanwhile: the higher number of each key is kept.
    #[must_use]
    pub fn over(mut self, kept: &Self) -> Self {
        self.marks = joined(&self.marks, &kept.marks);
        self
    }
}

/// The mark with the higher number of each key; those of `first` before all others.
pub(super) fn joined(first: &[KeyWatermark], then: &[KeyWatermark]) -> Vec<KeyWatermark> {
    let mut marks: Vec<KeyWatermark> = Vec::new();
    for mark in first.iter().chain(then) {
        match marks.iter_mut().find(|known| known.key == mark.key) {
            Some(known) if known.sequence < mark.sequence => *known = *mark,
            Some(_) => {}
            None => marks.push(*mark),
        }
    }
    marks.truncate(MOST);
    marks
}
