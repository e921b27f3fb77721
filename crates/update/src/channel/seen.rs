//! What was last believed of a channel, and by whose word: the highest number that each key has signed.
//!
//! An index has to have a higher number than all that the keys of the root's channel role have signed so far, and must not have been
//! made before any of it. A key that the next root leaves out takes its numbers with it, and not its times: whoever stole it and signed
//! the highest number there is has frozen the channel only until then, and no older index comes back, of whichever key.

use crate::bundle::Digest;
use serde::{Deserialize, Serialize};

/// The newest index of a channel that was believed. Kept, so that no older one is believed after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    pub product: String,
    pub channel: String,
    pub sequence: u64,
    /// Seconds since 1970, as the index says.
    pub created: u64,
    /// Of what was signed.
    pub sha256: Digest,
    /// Milliseconds since 1970, by this machine's clock: when it was last looked at.
    pub checked_ms: i64,
    /// One a key that has signed something; at most 32. Empty as an earlier version kept it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// The highest index that a key has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Its id.
    pub key: Digest,
    pub sequence: u64,
    /// Seconds since 1970; no later than when it was seen, where the clock was set.
    pub created: u64,
    pub sha256: Digest,
}

/// As many are kept: two roots' worth.
const MOST: usize = 32;

impl Seen {
    /// What is known of each key. Of what an earlier version kept nobody knows who signed it: it counts for all `keys` of the role, its
    /// number not where it is one that no index can have.
    pub(super) fn known(&self, keys: &[Digest]) -> Vec<Mark> {
        if !self.marks.is_empty() {
            return self.marks.clone();
        }
        let Self { created, sha256, .. } = *self;
        let sequence = if self.sequence <= created { self.sequence } else { 0 };
        keys.iter().map(|&key| Mark { key, sequence, created, sha256 }).collect()
    }

    /// This one, written over `kept`, which another look may have brought meanwhile: of each key the higher number stays.
    #[must_use]
    pub fn over(mut self, kept: &Self) -> Self {
        self.marks = joined(&self.marks, &kept.marks);
        self
    }
}

/// Of each key the mark with the higher number; those of `first` before all others.
pub(super) fn joined(first: &[Mark], then: &[Mark]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
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
