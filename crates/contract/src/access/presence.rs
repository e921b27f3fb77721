//! A caller's connection. Leases made on it end with it.

use super::seats::{ConnectionUse, Seat};
use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

/// A connection, while it is open. Clones refer to the same connection.
#[derive(Clone, Debug, Default)]
pub struct Presence {
    gone: Arc<AtomicBool>,
    seat: Weak<Seat>,
    _in_use: Option<Arc<ConnectionUse>>,
}

impl Presence {
    /// A connection that has a place in its listener's table.
    pub fn seated(seat: &Arc<Seat>) -> Self {
        Self { seat: Arc::downgrade(seat), ..Self::default() }
    }

    /// The place, while it exists.
    pub fn seat(&self) -> Option<Arc<Seat>> {
        self.seat.upgrade()
    }

    /// The same connection, not idle while the returned value exists, and so not closed for a newcomer.
    pub fn held(&self) -> Self {
        Self { _in_use: self.seat().map(|seat| Arc::new(seat.in_use())), ..self.clone() }
    }

    /// Marks the connection as closed. Later leases on it must be refused, because calls may still be in progress.
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
