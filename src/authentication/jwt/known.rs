//! Cache of tokens whose signature was verified recently. A client sends the same token with each call, and verifying
//! an elliptic-curve signature costs more than the call. Only the signature is cached: time, issuer and the other
//! claims are checked each time.

use super::Keys;
use ring::digest;
use serde_json::{Map, Value};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Most cached tokens, about the concurrent callers of an appliance; the oldest is replaced.
const MOST: usize = 16;

/// SHA-256 of a whole token, signature included.
pub type Hash = [u8; 32];
pub type Claims = Arc<Map<String, Value>>;

#[derive(Default)]
pub struct VerifiedTokens(Mutex<VecDeque<Entry>>);

struct Entry {
    token: Hash,
    /// The keys that verified it: after a rotation the entry no longer counts.
    keys: Arc<Keys>,
    claims: Claims,
}

impl VerifiedTokens {
    pub fn hash(token: &str) -> Hash {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        hash
    }

    /// The token's claims, if it was accepted with these same keys.
    pub fn find(&self, token: &Hash, keys: &Arc<Keys>) -> Option<Claims> {
        let known = self.lock();
        let entry = known.iter().find(|entry| entry.token == *token && Arc::ptr_eq(&entry.keys, keys))?;
        Some(Arc::clone(&entry.claims))
    }

    pub fn keep(&self, token: Hash, keys: Arc<Keys>, claims: Claims) {
        let mut known = self.lock();
        known.retain(|entry| Arc::ptr_eq(&entry.keys, &keys));
        known.truncate(MOST - 1);
        known.push_front(Entry { token, keys, claims });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
