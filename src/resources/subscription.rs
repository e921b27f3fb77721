//! One subscription: whose it is, what of, and what of that is new.

use super::{Address, Source};
use crate::log::{LogLine, Ring, Since, rank};
use contract::{access::caller::Caller, meta::Role};
use futures::future::BoxFuture;
use std::sync::Arc;
use tracing::Level;

/// Log lines that one delivery holds; what is left out is counted.
const LINES: usize = 64;

/// A subscriber's end. Delivery must not log, or the log would feed itself.
pub trait Ear: Send + Sync {
    /// The resource at this address has changed.
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()>;
    /// Lines of the server's log, oldest first.
    fn log(&self, lines: Since) -> BoxFuture<'_, ()>;
}

/// One delivery.
pub struct Due {
    pub ear: Arc<dyn Ear>,
    pub news: News,
}

impl Due {
    pub fn is_of_a_pin(&self) -> bool {
        matches!(&self.news, News::Updated(uri) if uri.starts_with("raspi://gpio/"))
    }
}

pub enum News {
    Updated(String),
    Log(Since),
}

/// One subscription of one conversation.
pub(super) struct Entry {
    pub conversation: u64,
    pub caller: Arc<Caller>,
    pub ear: Arc<dyn Ear>,
    pub wants: Wants,
    /// Something has changed since the last delivery.
    pub due: bool,
    /// The newest line of the log that it knows of.
    pub mark: u64,
}

/// What of.
pub(super) enum Wants {
    Updates { uri: String, address: Address },
    Log { least: usize },
}

impl Entry {
    /// Whether it would only repeat the other one.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.conversation == other.conversation
            && match (&self.wants, &other.wants) {
                (Wants::Updates { uri, .. }, Wants::Updates { uri: other, .. }) => uri == other,
                (Wants::Log { .. }, Wants::Log { .. }) => true,
                _ => false,
            }
    }

    /// Whether the record of this call is news to it; see [`Source::Audit`].
    pub fn sees(&self, principal: &str, tool: &str, outcome: &str) -> bool {
        let Wants::Updates { address, .. } = &self.wants else { return false };
        let fits = |name: &str, value: &str| address.arg(name).is_none_or(|wanted| wanted == value);
        address.resource.source == Source::Audit
            && tool != address.resource.tool
            && (self.caller.role >= Role::Admin || self.caller.principal == principal)
            && fits("tool", tool)
            && fits("outcome", outcome)
    }

    /// What is to be delivered now, if anything; it is due no longer.
    pub fn take_due(&mut self, log: &Ring) -> Option<Due> {
        let news = match &self.wants {
            Wants::Log { least } => {
                let since = messages_since(log, &mut self.mark, *least);
                (!since.lines.is_empty() || since.left_out > 0).then_some(News::Log(since))
            }
            Wants::Updates { uri, address } => {
                if address.resource.source == Source::Log {
                    let least = least_level(address);
                    let since = log.since(&mut self.mark, 1, |line| is_ours(line) && line.level <= least);
                    self.due |= !since.lines.is_empty() || since.left_out > 0;
                }
                std::mem::take(&mut self.due).then(|| News::Updated(uri.clone()))
            }
        };
        news.map(|news| Due { ear: Arc::clone(&self.ear), news })
    }
}

/// As `logs.get_recent_app_logs` takes its argument, which has judged it: its "debug" is everything.
fn least_level(address: &Address) -> Level {
    match address.arg("level") {
        Some("error") => Level::ERROR,
        Some("warn") => Level::WARN,
        Some("info") => Level::INFO,
        _ => Level::TRACE,
    }
}

/// The new lines for somebody who wants log messages at least as severe as `least` (its [`rank`]); `mark` moves on.
pub fn messages_since(log: &Ring, mark: &mut u64, least: usize) -> Since {
    log.since(mark, LINES, |line| is_ours(line) && rank(line.severity()) >= Some(least))
}

/// The first part of the targets that this program's lines have.
const OURS: [&str; 4] = ["raspi_mcp", "agent", "camera", "update"];

/// Lines of libraries that carry the delivery would call for the next one, at levels that only a developer sets. So would those
/// of the notifier itself, whose target is `resources`.
fn is_ours(line: &LogLine) -> bool {
    line.target.split("::").next().is_some_and(|first| OURS.contains(&first))
}
