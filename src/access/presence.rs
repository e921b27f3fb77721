//! The connection that a caller is on. What is lent to a caller there ends with it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A connection, for as long as it is open. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Presence(Arc<AtomicBool>);

impl Presence {
    /// The connection is over. What is lent to it later must be refused: calls may still be on their way.
    pub fn leave(&self) {
        self.0.store(true, Ordering::Release);
    }
    pub fn is_gone(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for Presence {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Presence {}
