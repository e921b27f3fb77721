//! The connection that a caller is on. What is lent to a caller there ends with it.

use super::seats::{InUse, Seat};
use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

/// A connection, for as long as it is open. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Presence {
    gone: Arc<AtomicBool>,
    seat: Weak<Seat>,
    _in_use: Option<Arc<InUse>>,
}

impl Presence {
    /// A connection that has a place among others.
    pub fn seated(seat: &Arc<Seat>) -> Self {
        Self { seat: Arc::downgrade(seat), ..Self::default() }
    }

    /// The place, while there is one.
    pub fn seat(&self) -> Option<Arc<Seat>> {
        self.seat.upgrade()
    }

    /// The same connection, which is not idle as long as the returned value is kept: it makes room for nobody.
    pub fn held(&self) -> Self {
        Self { _in_use: self.seat().map(|seat| Arc::new(seat.in_use())), ..self.clone() }
    }

    /// The connection is over. What is lent to it later must be refused: calls may still be on their way.
    pub fn leave(&self) {
        self.gone.store(true, Ordering::Release);
    }
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

impl PartialEq for Presence {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gone, &other.gone)
    }
}

impl Eq for Presence {}
