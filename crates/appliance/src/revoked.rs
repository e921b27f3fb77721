//! What was revoked on this card: hashes of tokens, and IDs of approvers' keys. It outlives a factory reset, so that a backup
//! from before does not bring them back (docs/backup.md). Hashes alone: nothing here lets anybody in.

use contract::config::Sha256;
use serde::{Deserialize, Serialize};
use update::slots::StateRecord;

/// Its key in [`StateRecord::kept`].
const KEY: &str = "revoked";
/// Most of each kind, 70 bytes each; the oldest make room.
const MOST: usize = 128;

/// The hashes, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Revoked {
    /// Of tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Sha256>,
    /// Of approvers' keys: SHA-256 of the SubjectPublicKeyInfo.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Sha256>,
}

impl Revoked {
    /// What a state has. What cannot be read counts as nothing.
    pub fn of(state: &StateRecord) -> Self {
        let bytes = state.kept.get(KEY).map_or(&b"{}"[..], Vec::as_slice);
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The state with it; `None` if it is kept already.
    pub fn to_keep(&self, state: &StateRecord) -> Option<StateRecord> {
        if Self::of(state) == *self {
            return None;
        }
        let mut next = state.clone();
        // Texts only, so this cannot fail.
        next.kept.insert(KEY.into(), serde_json::to_vec(self).unwrap_or_default());
        Some(next)
    }

    /// Adds what another one has.
    pub fn merge(&mut self, other: &Self) {
        for (own, others) in [(&mut self.tokens, &other.tokens), (&mut self.approvers, &other.approvers)] {
            for hash in others {
                if !own.contains(hash) {
                    own.push(*hash);
                }
            }
            own.drain(..own.len().saturating_sub(MOST));
        }
    }

    /// Takes approvers out that were enrolled anew.
    pub fn enrolled_again(&mut self, keys: &[Sha256]) {
        self.approvers.retain(|hash| !keys.contains(hash));
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.approvers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_each_once() {
        let hash = |number: u8| Sha256([number; 32]);
        let mut all = Revoked::default();
        for number in 0..=200 {
            all.merge(&Revoked { tokens: vec![hash(number), hash(number)], ..Revoked::default() });
        }
        all.merge(&Revoked { tokens: vec![hash(200)], approvers: vec![hash(1)] });
        assert_eq!((all.tokens.len(), all.tokens[0], all.tokens[MOST - 1]), (MOST, hash(73), hash(200)));
        let state = all.to_keep(&StateRecord::default()).unwrap();
        assert_eq!((Revoked::of(&state), all.to_keep(&state)), (all.clone(), None));
        all.enrolled_again(&[hash(1)]);
        assert!(all.approvers.is_empty() && !all.is_empty());
        assert!(Revoked::of(&StateRecord::default()).is_empty());
    }
}
