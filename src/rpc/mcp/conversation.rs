//! State of one conversation: the client's subscriptions and log level. Dropped when the conversation ends.

use crate::resources::subscriptions::Subscriptions;
use std::sync::{Arc, Mutex, PoisonError};

/// Lives as long as rmcp serves the conversation.
pub struct Conversation {
    pub number: u64,
    subscriptions: Arc<Subscriptions>,
    /// The severity set by `logging/setLevel`.
    log_level: Mutex<String>,
}

impl Conversation {
    /// The level is `info` until the client sets one.
    pub fn new(subscriptions: &Arc<Subscriptions>) -> Self {
        Self {
            number: subscriptions.conversation(),
            subscriptions: Arc::clone(subscriptions),
            log_level: Mutex::new("info".into()),
        }
    }

    pub fn log_level(&self) -> String {
        self.log_level.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_log_level(&self, level: String) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.subscriptions.forget(self.number);
    }
}
