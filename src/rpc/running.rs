//! Open requests by id, so that a cancellation finds its request and no id is used twice.

use contract::access::seats::{ConnectionUse, Seat};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Open requests. Cheap to clone.
#[derive(Clone, Default)]
pub struct OpenRequests(Arc<Mutex<Inner>>, Arc<Notify>, Option<Arc<Seat>>);

#[derive(Default)]
struct Inner {
    entered: u64,
    open: HashMap<String, (u64, CancellationToken)>,
}

/// Why a request cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRefused {
    /// A request with this id is open.
    InUse,
    /// The limit of open requests is reached.
    Full,
}

/// One open request; dropping it closes the request.
pub struct Entered {
    running: OpenRequests,
    key: String,
    number: u64,
    pub cancel: CancellationToken,
    _in_use: Option<ConnectionUse>,
}

impl OpenRequests {
    /// The requests of a connection with a place in a pool, which is idle while none is open.
    pub fn seated(seat: Option<Arc<Seat>>) -> Self {
        Self(Arc::default(), Arc::default(), seat)
    }

    /// Opens a request if its id is free and fewer than `limit` are open.
    ///
    /// # Errors
    /// [`RequestRefused`]
    pub fn open(&self, key: &str, limit: usize) -> Result<Entered, RequestRefused> {
        {
            let inner = self.lock();
            if inner.open.contains_key(key) {
                return Err(RequestRefused::InUse);
            }
            if inner.open.len() >= limit {
                return Err(RequestRefused::Full);
            }
        }
        Ok(self.enter(key.to_owned()))
    }

    /// Opens a request with any id: over HTTP each has its own answer, and a cancellation reaches the newest.
    pub fn enter(&self, key: String) -> Entered {
        let cancel = CancellationToken::new();
        let mut inner = self.lock();
        inner.entered += 1;
        let number = inner.entered;
        inner.open.insert(key.clone(), (number, cancel.clone()));
        drop(inner);
        let in_use = self.2.as_ref().map(|seat| seat.in_use());
        Entered { running: self.clone(), key, number, cancel, _in_use: in_use }
    }

    pub fn contains(&self, key: &str) -> bool {
        self.lock().open.contains_key(key)
    }

    /// The token that cancels the request with this id.
    pub fn token(&self, key: &str) -> Option<CancellationToken> {
        self.lock().open.get(key).map(|(_, cancel)| cancel.clone())
    }

    /// Cancels the request with this id; returns whether there is one.
    pub fn cancel(&self, key: &str) -> bool {
        self.token(key).inspect(CancellationToken::cancel).is_some()
    }

    pub fn cancel_all(&self) {
        for (_, cancel) in self.lock().open.values() {
            cancel.cancel();
        }
    }

    /// Returns once no request is open.
    pub async fn emptied(&self) {
        loop {
            // Registered before the check, so that a request that ends in between is not missed.
            let ended = self.1.notified();
            if self.lock().open.is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut inner = self.running.lock();
        // A newer request may have taken over the id.
        if inner.open.get(&self.key).is_some_and(|(number, _)| *number == self.number) {
            inner.open.remove(&self.key);
        }
        if inner.open.is_empty() {
            self.running.1.notify_waiters();
        }
    }
}
