//! All subscriptions, limited in number, and which of them are due.
//!
//! Audit records mark subscriptions as due (see [`Subscriptions::recorded`]); each log subscription has its position in
//! the ring. [`super::notifier`] takes what is due and delivers it.

use super::{
    ResourceAddress, UpdateTrigger,
    subscription::{Due, Ear, RecordedCall, Subscription, SubscriptionTarget},
};
use crate::log::Ring;
use base::{error::ToolError, os::systemd::ServiceName};
use contract::{
    access::{
        caller::Caller,
        shares::{PoolFull, Rule, is_admin},
    },
    values::Pin,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use tokio::sync::Notify;

/// Most subscriptions of one conversation: every resource in some variants. Its log level, of which it has one, is not among them.
pub const PER_CONVERSATION: usize = 16;
/// Most subscriptions of all conversations, about 200 bytes each. One caller gets a share of them.
pub const IN_ALL: usize = 256;
const RULE: Rule = Rule::quarter(IN_ALL);

/// All subscriptions.
#[derive(Default)]
pub struct Subscriptions {
    inner: Mutex<Inner>,
    /// Their number, readable without the lock, so that there is no cost without subscriptions.
    count: AtomicUsize,
    conversations: AtomicU64,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    entries: Vec<Subscription>,
    /// A notifier is running.
    notifier: bool,
}

/// What the notifier has to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub log: bool,
    pub health: bool,
    pub capabilities: bool,
    pub update: bool,
    pub samples: bool,
    pub server: bool,
    pub serial: bool,
    /// By their full names.
    pub services: BTreeSet<String>,
    pub pins: BTreeSet<Pin>,
}

impl Subscriptions {
    /// A number for a new conversation.
    pub fn conversation(&self) -> u64 {
        self.conversations.fetch_add(1, Ordering::Relaxed)
    }

    /// How many subscriptions there are.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Adds a subscription; idempotent. Returns whether a notifier must be started.
    ///
    /// # Errors
    /// `resource_exhausted` beyond the limits.
    #[must_use = "a notifier may be needed"]
    pub fn subscribe(
        &self,
        conversation: u64,
        caller: &Arc<Caller>,
        uri: &str,
        address: ResourceAddress,
        log: &Ring,
        ear: Arc<dyn Ear>,
    ) -> Result<bool, ToolError> {
        let wants = SubscriptionTarget::Updates { uri: uri.to_owned(), address };
        self.enter(Subscription { conversation, caller: Arc::clone(caller), ear, wants, due: false, mark: log.mark() })
    }

    /// Sends log messages at least as severe as `least` (its [`crate::log::rank`]) from now on. One level per
    /// conversation. Returns whether a notifier must be started.
    ///
    /// # Errors
    /// `resource_exhausted` beyond the limits.
    #[must_use = "a notifier may be needed"]
    pub fn listen_to_log(
        &self,
        conversation: u64,
        caller: &Arc<Caller>,
        least: usize,
        log: &Ring,
        ear: Arc<dyn Ear>,
    ) -> Result<bool, ToolError> {
        let wants = SubscriptionTarget::Log { least };
        self.enter(Subscription { conversation, caller: Arc::clone(caller), ear, wants, due: false, mark: log.mark() })
    }

    fn enter(&self, entry: Subscription) -> Result<bool, ToolError> {
        let mut inner = self.lock();
        if let Some(known) = inner.entries.iter_mut().find(|known| known.is_same_as(&entry)) {
            known.wants = entry.wants;
            return Ok(false);
        }
        let count = |of: &dyn Fn(&Subscription) -> bool| inner.entries.iter().filter(|known| of(known)).count();
        let is_update = |one: &Subscription| matches!(one.wants, SubscriptionTarget::Updates { .. });
        let here = count(&|known| known.conversation == entry.conversation && is_update(known));
        let own = count(&|known| known.caller.party() == entry.caller.party());
        let weak = count(&|known| !is_admin(&known.caller));
        let admitted = RULE.admits(is_admin(&entry.caller), own, weak, inner.entries.len());
        let refused = match admitted {
            _ if here >= PER_CONVERSATION && is_update(&entry) => Some((PER_CONVERSATION, "this conversation")),
            Err(PoolFull::Share(share)) => Some((share, "this caller")),
            Err(PoolFull::Whole(whole)) => Some((whole, "the server")),
            Ok(()) => None,
        };
        if let Some((limit, whose)) = refused {
            return Err(ToolError::exhausted(format!("{whose} has {limit} subscriptions already"))
                .with("limit", limit)
                .hint("unsubscribe from something first"));
        }
        inner.entries.push(entry);
        self.count.store(inner.entries.len(), Ordering::Release);
        let start = !std::mem::replace(&mut inner.notifier, true);
        drop(inner);
        self.changed.notify_one();
        Ok(start)
    }

    /// Removes a subscription, if there is one.
    pub fn unsubscribe(&self, conversation: u64, uri: &str) {
        self.retain(|entry| {
            entry.conversation != conversation
                || !matches!(&entry.wants, SubscriptionTarget::Updates { uri: known, .. } if known == uri)
        });
    }

    /// Removes all subscriptions of a conversation that has ended.
    pub fn forget(&self, conversation: u64) {
        if self.count() > 0 {
            self.retain(|entry| entry.conversation != conversation);
        }
    }

    /// A call was recorded: marks subscriptions that may see its record; see [`UpdateTrigger::Audit`].
    pub fn recorded(&self, call: &RecordedCall<'_>) {
        let mut news = false;
        for entry in &mut self.lock().entries {
            news |= entry.sees(call) && !std::mem::replace(&mut entry.due, true);
        }
        if news {
            self.changed.notify_one();
        }
    }

    /// The notifier found a change of this source.
    pub fn moved(&self, source: UpdateTrigger) {
        for entry in &mut self.lock().entries {
            entry.due |= matches!(&entry.wants, SubscriptionTarget::Updates { address, .. } if address.resource.source == source);
        }
    }

    /// Something has arrived at these serial ports.
    pub fn serial_moved(&self, ports: &[String]) {
        for entry in &mut self.lock().entries {
            entry.due |= match &entry.wants {
                SubscriptionTarget::Updates { address, .. } if address.resource.source == UpdateTrigger::Serial => {
                    ports.iter().any(|port| address.which() == Some(port))
                }
                _ => false,
            };
        }
    }

    /// The service with this name has changed.
    pub fn service_moved(&self, name: &str) {
        let mut news = false;
        for entry in &mut self.lock().entries {
            let moved = match &entry.wants {
                SubscriptionTarget::Updates { address, .. } if address.resource.source == UpdateTrigger::Service => {
                    service(address).is_some_and(|service| service == name)
                }
                _ => false,
            };
            news |= moved && !std::mem::replace(&mut entry.due, true);
        }
        if news {
            self.changed.notify_one();
        }
    }

    /// This pin has changed: marks subscribers that may read it.
    pub fn pin_moved(&self, pin: Pin, may: impl Fn(&Caller) -> bool) {
        let mut news = false;
        for entry in &mut self.lock().entries {
            let moved = entry.is_of(pin) && may(&entry.caller);
            news |= moved && !std::mem::replace(&mut entry.due, true);
        }
        if news {
            self.changed.notify_one();
        }
    }

    /// What the notifier has to watch.
    ///
    /// `may` says whether a caller may read a pin; other pins are not watched.
    pub fn needs(&self, may: impl Fn(Pin, &Caller) -> bool) -> Needs {
        let mut needs = Needs::default();
        for entry in &self.lock().entries {
            match &entry.wants {
                SubscriptionTarget::Log { .. } => needs.log = true,
                SubscriptionTarget::Updates { address, .. } => match address.resource.source {
                    UpdateTrigger::Log => needs.log = true,
                    UpdateTrigger::Health => needs.health = true,
                    UpdateTrigger::Capabilities => needs.capabilities = true,
                    UpdateTrigger::Update => needs.update = true,
                    UpdateTrigger::Samples => needs.samples = true,
                    UpdateTrigger::Server => needs.server = true,
                    UpdateTrigger::Serial => needs.serial = true,
                    UpdateTrigger::Audit | UpdateTrigger::Nowhere => {}
                    UpdateTrigger::Service => needs.services.extend(service(address)),
                    UpdateTrigger::Pin => needs.pins.extend(address.pin().filter(|pin| may(*pin, &entry.caller))),
                    UpdateTrigger::Pins => needs.pins.extend(Pin::all().filter(|pin| may(*pin, &entry.caller))),
                },
            }
        }
        needs
    }

    /// Ends the notifier if there are no subscriptions; the next one starts another. Returns whether it ends.
    pub fn dismiss(&self) -> bool {
        let mut inner = self.lock();
        inner.notifier = !inner.entries.is_empty();
        !inner.notifier
    }

    /// Tokens or grants have changed: the notifier checks its subscriptions again.
    pub fn look_again(&self) {
        self.moved(UpdateTrigger::Server);
        self.changed.notify_one();
    }

    /// Waits until a subscription was added, removed or became due since the last return. For the notifier.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes everything that is due now; with `all` false, only what is told quickly.
    pub fn due(&self, log: &Ring, all: bool) -> Vec<Due> {
        let mut inner = self.lock();
        let taken = inner.entries.iter_mut().filter(|entry| all || entry.is_quick());
        taken.filter_map(|entry| entry.take_due(log)).collect()
    }

    fn retain(&self, keep: impl Fn(&Subscription) -> bool) {
        let mut inner = self.lock();
        let before = inner.entries.len();
        inner.entries.retain(keep);
        let after = inner.entries.len();
        self.count.store(after, Ordering::Release);
        drop(inner);
        if after < before {
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The full name of the service at this address. An invalid name cannot be subscribed to.
fn service(address: &ResourceAddress) -> Option<String> {
    Some(ServiceName::parse(address.which()?).ok()?.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LinesSince;
    use contract::{access::caller::Transport, meta::Role};
    use futures::future::{BoxFuture, ready};

    struct Deaf;
    impl Ear for Deaf {
        fn updated<'a>(&'a self, _uri: &'a str) -> BoxFuture<'a, ()> {
            Box::pin(ready(()))
        }
        fn log(&self, _lines: LinesSince) -> BoxFuture<'_, ()> {
            Box::pin(ready(()))
        }
    }

    #[test]
    fn one_caller_s_conversations_leave_subscriptions_for_others() {
        let (subscriptions, log) = (Subscriptions::default(), Ring::new(1));
        // The limit that refused, after so many.
        let fill = |name: &str, role| {
            let caller = Arc::new(Caller::new(name, role, Transport::Ws));
            for n in 0.. {
                let (uri, number) = (format!("raspi://audit?limit={}", n % 16 + 1), subscriptions.conversation() / 16);
                let conversation = 1000 * (subscriptions.count() as u64 + 1) + number;
                let address = ResourceAddress::parse(&uri).unwrap();
                if let Err(full) = subscriptions.subscribe(conversation, &caller, &uri, address, &log, Arc::new(Deaf)) {
                    return (n, full.details["limit"].clone());
                }
            }
            unreachable!("it is bounded")
        };
        assert_eq!(fill("a", Role::ReadOnly), (64, 64.into()));
        assert_eq!(fill("b", Role::OpsRw), (64, 64.into()));
        assert_eq!(fill("c", Role::ReadOnly), (64, 64.into()));
        assert_eq!(fill("d", Role::ReadOnly), (32, 256.into()), "the rest is the reserve");
        assert_eq!(fill("root", Role::Admin), (32, 256.into()));
    }
}
