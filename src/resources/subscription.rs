//! One subscription: its subscriber, its resource, and what is due.

use super::{ResourceAddress, UpdateTrigger};
use crate::log::{LinesSince, LogLine, Ring, rank};
use contract::{access::caller::Caller, meta::Role, values::Pin};
use futures::future::BoxFuture;
use std::sync::Arc;
use tracing::Level;

/// Most log lines in one delivery; omitted lines are counted.
const LINES: usize = 64;

/// A call as the audit has recorded it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall<'a> {
    pub principal: &'a str,
    pub tool: &'a str,
    /// "ok", or the code of the error.
    pub outcome: &'a str,
    /// Whether it changed something, or may have.
    pub changed: bool,
}

/// Delivers to a subscriber. Implementations must not log, or the log would feed itself.
pub trait Ear: Send + Sync {
    /// Whether the record of this call is news to it, if it may be read. A subscriber that reads more than the audit at each
    /// change must not take such reads for one, or its reads would never end.
    fn hears(&self, _call: &RecordedCall<'_>) -> bool {
        true
    }
    /// The resource at this address has changed.
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()>;
    /// Lines of the server's log, oldest first.
    fn log(&self, lines: LinesSince) -> BoxFuture<'_, ()>;
}

/// One delivery.
pub struct Due {
    pub ear: Arc<dyn Ear>,
    pub news: SubscriptionEvent,
}

impl Due {
    /// As `Subscription::is_quick`.
    pub fn is_quick(&self) -> bool {
        const QUICK: [&str; 3] = ["raspi://gpio", "raspi://server", "raspi://serial"];
        matches!(&self.news, SubscriptionEvent::Updated(uri) if QUICK.iter().any(|quick| uri.starts_with(quick)))
    }
}

pub enum SubscriptionEvent {
    Updated(String),
    Log(LinesSince),
}

/// One subscription of one conversation.
pub(super) struct Subscription {
    pub conversation: u64,
    pub caller: Arc<Caller>,
    pub ear: Arc<dyn Ear>,
    pub wants: SubscriptionTarget,
    /// Something has changed since the last delivery.
    pub due: bool,
    /// The newest line of the log that was delivered.
    pub mark: u64,
}

/// What it subscribes to.
pub(super) enum SubscriptionTarget {
    Updates { uri: String, address: ResourceAddress },
    Log { least: usize },
}

impl Subscription {
    /// Whether it duplicates the other one.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.conversation == other.conversation
            && match (&self.wants, &other.wants) {
                (SubscriptionTarget::Updates { uri, .. }, SubscriptionTarget::Updates { uri: other, .. }) => {
                    uri == other
                }
                (SubscriptionTarget::Log { .. }, SubscriptionTarget::Log { .. }) => true,
                _ => false,
            }
    }

    /// Whether the record of this call is visible to it; see [`UpdateTrigger::Audit`].
    pub fn sees(&self, call: &RecordedCall<'_>) -> bool {
        let SubscriptionTarget::Updates { address, .. } = &self.wants else { return false };
        let fits = |name: &str, value: &str| address.arg(name).is_none_or(|wanted| wanted == value);
        address.resource.source == UpdateTrigger::Audit
            && call.tool != address.resource.tool
            && (self.caller.role >= Role::Admin || self.caller.principal == call.principal)
            && fits("tool", call.tool)
            && fits("outcome", call.outcome)
            && self.ear.hears(call)
    }

    /// Whether it is about pins, serial ports or asks, whose changes are delivered quickly.
    pub fn is_quick(&self) -> bool {
        matches!(&self.wants, SubscriptionTarget::Updates { address, .. }
        if matches!(
            address.resource.source,
            UpdateTrigger::Pin | UpdateTrigger::Pins | UpdateTrigger::Serial | UpdateTrigger::Server
        ))
    }

    /// Whether it is about this pin, alone or among others.
    pub fn is_of(&self, pin: Pin) -> bool {
        let SubscriptionTarget::Updates { address, .. } = &self.wants else { return false };
        match address.resource.source {
            UpdateTrigger::Pin => address.pin() == Some(pin),
            UpdateTrigger::Pins => true,
            _ => false,
        }
    }

    /// Takes what is due now, if anything.
    pub fn take_due(&mut self, log: &Ring) -> Option<Due> {
        let news = match &self.wants {
            SubscriptionTarget::Log { least } => {
                let since = messages_since(log, &mut self.mark, *least);
                (!since.lines.is_empty() || since.left_out > 0).then_some(SubscriptionEvent::Log(since))
            }
            SubscriptionTarget::Updates { uri, address } => {
                if address.resource.source == UpdateTrigger::Log {
                    let least = least_level(address);
                    let since = log.since(&mut self.mark, 1, |line| is_ours(line) && line.level <= least);
                    self.due |= !since.lines.is_empty() || since.left_out > 0;
                }
                std::mem::take(&mut self.due).then(|| SubscriptionEvent::Updated(uri.clone()))
            }
        };
        news.map(|news| Due { ear: Arc::clone(&self.ear), news })
    }
}

/// The level argument of `logs.get_recent_app_logs`, already validated. "debug" includes everything.
fn least_level(address: &ResourceAddress) -> Level {
    match address.arg("level") {
        Some("error") => Level::ERROR,
        Some("warn") => Level::WARN,
        Some("info") => Level::INFO,
        _ => Level::TRACE,
    }
}

/// The new lines for a client that wants log messages at least as severe as `least` (its [`rank`]); advances `mark`.
pub fn messages_since(log: &Ring, mark: &mut u64, least: usize) -> LinesSince {
    log.since(mark, LINES, |line| is_ours(line) && rank(line.severity()) >= Some(least))
}

/// The first part of the targets of this program's log lines.
const OURS: [&str; 4] = ["raspi_mcp", "agent", "camera", "update"];

/// Excludes lines of libraries that deliver messages, since each delivery would cause the next one (at levels that only
/// developers set), and lines of the notifier, whose target is `resources`.
fn is_ours(line: &LogLine) -> bool {
    line.target.split("::").next().is_some_and(|first| OURS.contains(&first))
}
