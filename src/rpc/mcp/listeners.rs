//! Notifies clients that listen for changes.

use crate::registry::context::ListChange;
use base::error::ToolError;
use contract::access::{
    caller::Caller,
    shares::{LISTENS, Pool, PoolPlace, Rule},
};
use futures::future::{join, join_all};
use rmcp::{
    Peer, RoleServer,
    model::ServerNotification,
    service::{SubscriptionContext, SubscriptionSink},
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// How long a client that does not read may delay the sender.
const PATIENCE: Duration = Duration::from_secs(1);

/// Every listening client. rmcp filters the changes by what each one requested.
pub struct Listeners {
    places: Arc<Pool>,
    next: AtomicU64,
    /// Open `subscriptions/listen` requests (2026-07-28).
    listening: Mutex<HashMap<u64, SubscriptionSink>>,
    /// Conversations that began with `initialize`: they receive everything announced as a capability.
    initialized: Mutex<Vec<Peer<RoleServer>>>,
    /// Doors that are no MCP.
    tools: watch::Sender<()>,
}

impl Default for Listeners {
    fn default() -> Self {
        Self {
            places: Pool::new(Rule::quarter(LISTENS)),
            next: AtomicU64::default(),
            listening: Mutex::default(),
            initialized: Mutex::default(),
            tools: watch::Sender::new(()),
        }
    }
}

impl Listeners {
    /// Reserves a place for one more open `subscriptions/listen`.
    ///
    /// # Errors
    /// `resource_exhausted`
    pub fn place(&self, caller: &Arc<Caller>) -> Result<PoolPlace, ToolError> {
        self.places.take(caller).map_err(|full| full.error("open subscriptions/listen requests"))
    }

    /// Adds a conversation of the revisions with `initialize`. Closed conversations are removed.
    pub fn add(&self, peer: Peer<RoleServer>) {
        let mut initialized = lock(&self.initialized);
        initialized.retain(|peer| !peer.is_transport_closed());
        initialized.push(peer);
    }

    /// Keeps a subscription until the client ends it or disconnects.
    pub async fn hold(&self, subscription: SubscriptionContext) {
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.listening).insert(key, subscription.sink().clone());
        // Removed on drop too, in case the connection ends first.
        let _seat = Seat { listeners: self, key };
        subscription.cancelled().await;
    }

    /// Is told of every announced change of the list of tools; changes that come quickly are told once.
    pub fn tools(&self) -> watch::Receiver<()> {
        self.tools.subscribe()
    }

    /// Sends a change to all listeners.
    pub async fn announce(&self, change: ListChange) {
        if change == ListChange::Tools {
            self.tools.send_replace(());
        }
        let listening: Vec<_> = lock(&self.listening).values().cloned().collect();
        let initialized: Vec<_> = lock(&self.initialized).clone();
        let subscriptions = listening.iter().map(|sink| async {
            // Refused for clients that did not request it, and for those that have just disconnected.
            if let Err(error) = sink.send(notification(change)).await {
                tracing::trace!(%error, ?change, "a subscription was not told");
            }
        });
        let conversations = initialized.iter().filter(|peer| !peer.is_transport_closed()).map(|peer| async {
            if let Err(error) = peer.send_notification(notification(change)).await {
                tracing::debug!(%error, ?change, "a client was not told");
            }
        });
        let told = join(join_all(subscriptions), join_all(conversations));
        if tokio::time::timeout(PATIENCE, told).await.is_err() {
            tracing::debug!(?change, "some clients did not take the news in time");
        }
    }
}

struct Seat<'a> {
    listeners: &'a Listeners,
    key: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        lock(&self.listeners.listening).remove(&self.key);
    }
}

fn notification(change: ListChange) -> ServerNotification {
    match change {
        ListChange::Tools => ServerNotification::ToolListChangedNotification(Default::default()),
        ListChange::Prompts => ServerNotification::PromptListChangedNotification(Default::default()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
