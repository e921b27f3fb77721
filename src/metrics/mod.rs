//! The server's counters, for `/metrics`: a few atomic additions per call, without locks or allocations.
//!
//! The number of labels is bounded by the tools of this program, the codes of the error table and the reasons of
//! [`RefusalReason`]. Tools that are added while the server runs share one row.

pub mod node;
pub mod text;

use crate::registry::Registry;
use base::error::{ErrorCode, ToolError};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds of the latency histogram, in microseconds: from an answer from memory to the default maximum of a call.
pub const BOUNDS_US: [u64; 10] = [500, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 30_000_000];

/// The name of the row of added tools.
const ADDED: &str = "(added)";

/// All counters.
pub struct Metrics {
    /// Sorted by name.
    tools: Vec<ToolCounters>,
    /// All tools that were added while the server runs.
    added: ToolCounters,
    /// Addresses of the registry's names, sorted, with the indices in `tools`: comparing names takes five times as
    /// long.
    places: Vec<(usize, usize)>,
    refused: [AtomicU64; RefusalReason::ALL.len()],
}

/// The counters of one tool.
pub struct ToolCounters {
    pub name: &'static str,
    /// Calls that succeeded.
    ok: AtomicU64,
    /// Calls that failed, in the order of [`ErrorCode::ALL`].
    failed: [AtomicU64; ErrorCode::ALL.len()],
    /// Calls by duration: one counter per bound, and one for longer calls.
    took: [AtomicU64; BOUNDS_US.len() + 1],
    /// Total duration in microseconds.
    total_us: AtomicU64,
}

/// Why an HTTP request was refused before it became a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// A Host or Origin that this server does not accept.
    Origin,
    /// No token, or an invalid one.
    Unauthenticated,
    /// No such session.
    Session,
    /// The limit of sessions is reached.
    Sessions,
    /// The caller's share of connections or the limit of all connections is reached.
    Connections,
    /// The body is too long, too slow, incomplete or not JSON.
    Body,
}

impl RefusalReason {
    pub const ALL: [Self; 6] =
        [Self::Origin, Self::Unauthenticated, Self::Session, Self::Sessions, Self::Connections, Self::Body];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::Unauthenticated => "unauthenticated",
            Self::Session => "unknown_session",
            Self::Sessions => "too_many_sessions",
            Self::Connections => "too_many_connections",
            Self::Body => "body",
        }
    }
}

impl Metrics {
    /// Counters at zero for each tool of this program.
    pub fn new(registry: &Registry) -> Self {
        let mut tools: Vec<ToolCounters> =
            registry.rows().filter(|row| !row.is_older()).map(|row| ToolCounters::new(row.name())).collect();
        base::sort::sort_by_key(&mut tools, |tool| tool.name);
        let mut places: Vec<_> = tools.iter().map(|tool| address(tool.name)).zip(0..).collect();
        base::sort::sort(&mut places);
        Self { tools, added: ToolCounters::new(ADDED), places, refused: Default::default() }
    }

    /// Counts a call that has ended. `tool` is the name from its entry in the registry.
    pub fn called(&self, tool: &str, error: Option<&ToolError>, duration: Duration) {
        let tool = self.find(tool).unwrap_or(&self.added);
        let outcome = error.map_or(&tool.ok, |error| &tool.failed[error.code as usize]);
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        add(outcome, 1);
        add(&tool.took[bucket], 1);
        add(&tool.total_us, us);
    }

    fn find(&self, tool: &str) -> Option<&ToolCounters> {
        let at = match self.places.binary_search_by_key(&address(tool), |(address, _)| *address) {
            Ok(at) => self.places[at].1,
            // The name is a copy at another address.
            Err(_) => self.tools.binary_search_by_key(&tool, |known| known.name).ok()?,
        };
        Some(&self.tools[at])
    }

    /// Counts a refused request.
    pub fn refused(&self, reason: RefusalReason) {
        add(&self.refused[reason as usize], 1);
    }

    /// Number of requests refused for this reason.
    pub fn refusals(&self, reason: RefusalReason) -> u64 {
        read(&self.refused[reason as usize])
    }

    /// The tools that were called at least once.
    pub fn called_tools(&self) -> impl Iterator<Item = &ToolCounters> {
        self.tools.iter().chain([&self.added]).filter(|tool| tool.calls() > 0)
    }
}

impl ToolCounters {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ok: AtomicU64::default(),
            failed: Default::default(),
            took: Default::default(),
            total_us: AtomicU64::default(),
        }
    }

    /// Number of calls that ended, with any outcome.
    pub fn calls(&self) -> u64 {
        self.took.iter().map(read).sum()
    }

    /// Calls by outcome, without zeros: `ok`, or the symbol of an error.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let failed = ErrorCode::ALL.iter().zip(&self.failed).map(|(code, count)| (code.symbol(), read(count)));
        [("ok", read(&self.ok))].into_iter().chain(failed).filter(|(_, count)| *count > 0)
    }

    /// For each of [`BOUNDS_US`], the number of calls that took at most as long.
    pub fn within(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut sum = 0;
        BOUNDS_US.iter().zip(&self.took).map(move |(bound, count)| {
            sum += read(count);
            (*bound, sum)
        })
    }

    pub fn total(&self) -> Duration {
        Duration::from_micros(read(&self.total_us))
    }
}

fn address(name: &str) -> usize {
    name.as_ptr().addr()
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_and_reason_has_a_place_of_its_own() {
        for (at, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(*code as usize, at, "{code:?}");
        }
        for (at, reason) in RefusalReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, at, "{reason:?}");
        }
    }

    #[test]
    fn calls_are_counted_by_outcome_and_by_time() {
        let metrics = Metrics::new(&Registry::new(crate::tools::NAMESPACES));
        metrics.called("system.get_clock", None, Duration::from_micros(500));
        metrics.called("system.get_clock", None, Duration::from_micros(501));
        metrics.called("system.get_clock", Some(&ToolError::denied("no")), Duration::from_secs(31));
        let copy = String::from("system.reboot");
        metrics.called(&copy, Some(&ToolError::internal("x")), Duration::ZERO);
        metrics.called("greenhouse.water", None, Duration::ZERO);
        let called: Vec<&ToolCounters> = metrics.called_tools().collect();
        assert_eq!(
            called.iter().map(|tool| tool.name).collect::<Vec<_>>(),
            ["system.get_clock", "system.reboot", "(added)"]
        );
        assert_eq!(called[0].calls(), 3);
        assert_eq!(called[0].outcomes().collect::<Vec<_>>(), [("ok", 2), ("permission_denied", 1)]);
        let within: Vec<u64> = called[0].within().map(|(_, count)| count).collect();
        assert_eq!(within, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(called[0].total(), Duration::from_micros(31_001_001));
    }
}
