//! Calls that are counted instead of recorded one by one: repeated refusals of the same kind within a minute, and calls
//! by callers that have used up their share of the store (see [`super::shares`]).
//!
//! A kind is a caller, a tool and an outcome. At the end of its window it becomes one record with its count.

use base::canonical;
use contract::audit::{
    limit::cut,
    record::{AuditRecord, MAX_NAME, PreparedRecord, now_ms, rfc3339},
};
use contract::{audit::changed::Changed, meta::Role};
use serde_json::json;
use std::{collections::HashMap, mem, time::Duration};

/// Window in which refusals of one kind are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Window for callers without a share left, long so that their counts take little space.
const LONG_WINDOW: Duration = Duration::from_secs(3600);
/// Most kinds counted separately for one caller. Further ones share an entry for each outcome.
const KINDS_OF_ONE: usize = 160;
/// Most kinds counted separately for all callers. Further ones share an entry for each outcome.
const KINDS: usize = 640;
/// Placeholder for tools and callers that are not counted separately.
const OTHERS: &str = "*";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    principal: String,
    tool: String,
    outcome: &'static str,
}

/// A caller, as far as it appears in records.
#[derive(Clone, Copy)]
pub(super) struct Who<'a> {
    pub(super) principal: &'a str,
    pub(super) role: Role,
    pub(super) door: &'static str,
}

/// How often a kind occurred.
pub(super) struct RepeatCount {
    kind: Kind,
    role: Option<Role>,
    door: &'static str,
    since_ms: i64,
    count: u64,
    /// Ends with the long window.
    long: bool,
}

/// What to do about one call.
pub(super) struct Noted {
    /// The first of its kind in this window: it gets a record of its own. Later ones are counted.
    pub(super) first: bool,
    /// A window of this length has begun: call [`Gathered::ended`] after it.
    pub(super) opens: Option<Duration>,
}

/// The kinds of the open windows.
#[derive(Default)]
pub(super) struct Gathered {
    kinds: HashMap<Kind, RepeatCount>,
    /// Whether a task waits for the end of the short window, and of the long one.
    open: [bool; 2],
}

impl Gathered {
    /// Counts one call. `long`: its caller has no share left, so even the first gets no record of its own.
    pub(super) fn note(&mut self, who: Who<'_>, tool: &str, outcome: &'static str, long: bool) -> Noted {
        let kind = self.kind_of(who.principal, tool, outcome);
        let known = self.kinds.contains_key(&kind);
        let tally = self.kinds.entry(kind.clone()).or_insert_with(|| RepeatCount {
            role: (kind.principal != OTHERS).then_some(who.role),
            kind,
            door: who.door,
            since_ms: now_ms(),
            count: 0,
            long,
        });
        let first = !known && !long;
        tally.count += u64::from(!first);
        let window = if tally.long { LONG_WINDOW } else { WINDOW };
        let opens = !mem::replace(&mut self.open[usize::from(tally.long)], true);
        Noted { first, opens: opens.then_some(window) }
    }

    fn kind_of(&self, principal: &str, tool: &str, outcome: &'static str) -> Kind {
        let principal = cut(principal, MAX_NAME).into_owned();
        let mut kind = Kind { principal, tool: tool.to_owned(), outcome };
        if self.kinds.contains_key(&kind) {
            return kind;
        }
        if self.kinds.keys().filter(|known| known.principal == kind.principal).count() >= KINDS_OF_ONE {
            kind.tool = OTHERS.to_owned();
        }
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&kind) {
            (kind.principal, kind.tool) = (OTHERS.to_owned(), OTHERS.to_owned());
        }
        kind
    }

    /// Ends the windows of this length and returns what was counted in them.
    pub(super) fn ended(&mut self, window: Duration) -> Vec<RepeatCount> {
        let long = window == LONG_WINDOW;
        self.open[usize::from(long)] = false;
        self.take(|tally| tally.long == long)
    }

    /// What was counted so far in the short windows, which stay open. Called before the audit is read.
    pub(super) fn so_far(&mut self) -> Vec<RepeatCount> {
        let counted = self.kinds.values_mut().filter(|tally| !tally.long && tally.count > 0);
        counted.map(|tally| mem::replace(tally, tally.renewed())).collect()
    }

    /// Everything that was counted, for the last flush.
    pub(super) fn all(&mut self) -> Vec<RepeatCount> {
        self.take(|_| true)
    }

    fn take(&mut self, wanted: impl Fn(&RepeatCount) -> bool) -> Vec<RepeatCount> {
        let (taken, kept) = mem::take(&mut self.kinds).into_iter().partition(|(_, tally)| wanted(tally));
        self.kinds = kept;
        let taken: HashMap<Kind, RepeatCount> = taken;
        taken.into_values().filter(|tally| tally.count > 0).collect()
    }

    /// Returns tallies that could not be written, to be counted with later calls.
    pub(super) fn put_back(&mut self, tallies: Vec<RepeatCount>) {
        for tally in tallies {
            // They were taken from here, so they fit, except for kinds that were added since.
            if let Some(known) = self.kinds.get_mut(&tally.kind) {
                known.count += tally.count;
                known.since_ms = tally.since_ms;
            } else if self.kinds.len() < 2 * KINDS {
                self.kinds.insert(tally.kind.clone(), tally);
            }
        }
    }

    /// Calls that are counted and not yet written.
    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        self.kinds.values().map(|tally| tally.count).sum()
    }
}

impl RepeatCount {
    fn renewed(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            role: self.role,
            door: self.door,
            since_ms: now_ms(),
            count: 0,
            long: self.long,
        }
    }

    /// The record of this tally.
    pub(super) fn prepare(&self) -> PreparedRecord {
        let args = json!({});
        let (count, since) = (self.count, rfc3339(self.since_ms));
        AuditRecord {
            ts_ms: now_ms(),
            intent: None,
            principal: self.kind.principal.as_str().into(),
            owner: None,
            role: self.role,
            door: self.door,
            tool: self.kind.tool.as_str().into(),
            by: None,
            args_sha256: canonical::sha256_hex(&args).into(),
            args,
            outcome: self.kind.outcome,
            message: Some(format!("{count} more calls ended so since {since}; they have no records of their own")),
            duration_ms: 0,
            request_id: None,
            correlation_id: None,
            approval: None,
            simulated: false,
            changed: Changed::No,
            later: false,
        }
        .prepare_gathered(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(principal: &str) -> Who<'_> {
        Who { principal, role: Role::ReadOnly, door: "http" }
    }

    #[test]
    fn the_first_of_a_kind_is_recorded_and_the_others_are_counted() {
        let mut gathered = Gathered::default();
        for n in 0..1000 {
            let noted = gathered.note(who("a"), "x.y", "invalid_argument", false);
            assert_eq!((noted.first, noted.opens.is_some()), (n == 0, n == 0));
        }
        assert!(gathered.note(who("a"), "x.y", "permission_denied", false).first, "another outcome");
        assert!(gathered.note(who("b"), "x.y", "invalid_argument", false).first, "another caller");
        let counts = |tallies: &[RepeatCount]| tallies.iter().map(|tally| tally.count).collect::<Vec<_>>();
        assert_eq!(counts(&gathered.so_far()), [999]);
        assert!(!gathered.note(who("a"), "x.y", "invalid_argument", false).first, "the window goes on");
        assert_eq!(counts(&gathered.ended(WINDOW)), [1]);
        assert!(gathered.note(who("a"), "x.y", "invalid_argument", false).first, "a new window");
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let mut gathered = Gathered::default();
        let tools: Vec<&'static str> = (0..100).map(|n| &*String::leak(format!("x.t{n}"))).collect();
        let mut recorded = 0;
        for n in 0..10_000 {
            let principal = format!("jwt:{}", n / 100);
            recorded += u64::from(gathered.note(who(&principal), tools[n % 100], "invalid_argument", false).first);
        }
        assert!(gathered.kinds.len() <= KINDS + 1, "{}", gathered.kinds.len());
        assert!(recorded <= KINDS as u64 + 1, "{recorded}");
        assert_eq!(recorded + gathered.count(), 10_000);
    }

    #[test]
    fn who_has_no_share_left_is_counted_from_the_first_on() {
        let mut gathered = Gathered::default();
        let noted = gathered.note(who("a"), "x.y", "ok", true);
        assert_eq!((noted.first, noted.opens), (false, Some(LONG_WINDOW)));
        assert!(gathered.so_far().is_empty(), "whoever reads the audit does not make it write more");
        assert_eq!(gathered.ended(LONG_WINDOW)[0].count, 1);
    }
}
