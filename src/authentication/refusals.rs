//! Refused credentials, counted by network in bounded memory, so that ten thousand wrong tokens cost only a few audit
//! records.
//!
//! The counts never affect a valid token: it is accepted even from an address that has just sent a thousand wrong ones,
//! because many callers can be behind one router. 256 random bits cannot be guessed at any rate; the limit only reduces
//! noise.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Wrong tokens from one network that are answered with 401 before 429 follows.
const BURST: f64 = 10.0;
/// Time until one more is answered with 401.
const REFILL: Duration = Duration::from_secs(6);
/// Most networks counted separately; further ones share one entry. Attackers choose their addresses, so this bounds
/// memory.
const NETWORKS: usize = 64;
/// Window in which the refusals of a network are collected into one record.
pub const WINDOW: Duration = Duration::from_secs(60);

/// Addresses that may be one host: an IPv4 address, or the /64 of an IPv6 address, in which a host can choose its
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceNetwork(IpAddr);

impl SourceNetwork {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => Self(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into()),
            v4 => Self(v4),
        }
    }
}

impl fmt::Display for SourceNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

/// What one network did since the last record. `None`: all networks that are not counted separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    pub network: Option<SourceNetwork>,
    pub refused: u64,
    /// Number of refusals by reason.
    pub reasons: BTreeMap<&'static str, u64>,
}

/// What to do about one refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusalAction {
    /// The first from this network in this window: it gets a record of its own before it is answered.
    pub record: bool,
    /// A window has begun: call [`Refusals::gathered`] after [`WINDOW`].
    pub opens: bool,
    /// Too many: answer 429 and ask to wait this long.
    pub wait: Option<Duration>,
}

/// The counted refusals.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    networks: HashMap<Option<SourceNetwork>, Entry>,
    /// A task waits for the end of the window.
    open: bool,
}

#[derive(Debug)]
struct Entry {
    tokens: f64,
    filled: Instant,
    /// One refusal was recorded by itself in this window; the others are in `reasons`.
    recorded: bool,
    reasons: BTreeMap<&'static str, u64>,
}

impl Entry {
    fn new(now: Instant) -> Self {
        Self { tokens: BURST, filled: now, recorded: false, reasons: BTreeMap::new() }
    }

    fn refill(&mut self, now: Instant) {
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() / REFILL.as_secs_f64();
        self.tokens = (self.tokens + gained).min(BURST);
        self.filled = now;
    }

    /// Whether the entry equals a new one and can be dropped.
    fn is_spent(&self) -> bool {
        self.tokens >= BURST && !self.recorded && self.reasons.is_empty()
    }
}

impl Refusals {
    /// Counts a refusal for `reason`. `limited`: it carried a credential, so it may have been a guess.
    pub fn note(&self, from: IpAddr, reason: &'static str, limited: bool, now: Instant) -> RefusalAction {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = Some(SourceNetwork::of(from));
        if !book.networks.contains_key(&key) && book.networks.len() >= NETWORKS {
            book.networks.retain(|_, entry| {
                entry.refill(now);
                !entry.is_spent()
            });
            if book.networks.len() >= NETWORKS {
                key = None;
            }
        }
        let entry = book.networks.entry(key).or_insert_with(|| Entry::new(now));
        let record = !std::mem::replace(&mut entry.recorded, true);
        if !record {
            *entry.reasons.entry(reason).or_default() += 1;
        }
        entry.refill(now);
        let mut wait = None;
        if limited && entry.tokens < 1.0 {
            wait = Some(REFILL.mul_f64(1.0 - entry.tokens));
        } else if limited {
            entry.tokens -= 1.0;
        }
        let opens = !std::mem::replace(&mut book.open, true);
        RefusalAction { record, opens, wait }
    }

    /// Ends the window. Returns the refusals that were not recorded by themselves.
    pub fn gathered(&self) -> Vec<RefusalCount> {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.open = false;
        let mut tallies = Vec::new();
        for (network, entry) in &mut book.networks {
            entry.recorded = false;
            let reasons = std::mem::take(&mut entry.reasons);
            if !reasons.is_empty() {
                tallies.push(RefusalCount { network: *network, refused: reasons.values().sum(), reasons });
            }
        }
        base::sort::sort_by_key(&mut tallies, |tally| (std::cmp::Reverse(tally.refused), tally.network));
        tallies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    #[test]
    fn the_first_is_recorded_the_others_are_counted() {
        let (book, now) = (Refusals::default(), Instant::now());
        assert_eq!(book.note(HERE, "unknown", true, now), RefusalAction { record: true, opens: true, wait: None });
        for n in 1..10_000u32 {
            let told = book.note(HERE, if n % 10 == 0 { "expired" } else { "unknown" }, true, now);
            assert_eq!((told.record, told.opens, told.wait.is_some()), (false, false, n >= 10), "{n}");
        }
        let reasons = BTreeMap::from([("expired", 999), ("unknown", 9000)]);
        assert_eq!(book.gathered(), [RefusalCount { network: Some(SourceNetwork::of(HERE)), refused: 9999, reasons }]);
        assert_eq!(book.gathered(), []);
        let told = book.note(HERE, "unknown", true, now + Duration::from_secs(6));
        assert_eq!(
            told,
            RefusalAction { record: true, opens: true, wait: None },
            "a new window, and one more is answered"
        );
        assert_eq!(book.note(HERE, "unknown", true, now + Duration::from_secs(6)).wait, Some(REFILL));
        assert_eq!(book.note(HERE, "missing", false, now + Duration::from_secs(6)).wait, None, "no guess, no limit");
    }

    #[test]
    fn memory_is_bounded_and_nobody_is_lost() {
        let (book, now) = (Refusals::default(), Instant::now());
        let mut recorded = 0;
        for n in 0..10_000u32 {
            let from = IpAddr::V6(Ipv6Addr::from_bits(u128::from(n) << 64 | 1));
            recorded += u64::from(book.note(from, "unknown", true, now).record);
        }
        assert_eq!(recorded, NETWORKS as u64 + 1);
        let tallies = book.gathered();
        assert_eq!((tallies.len(), tallies[0].network), (1, None));
        assert_eq!(recorded + tallies[0].refused, 10_000);
        // Once they are forgotten, there is room again.
        assert!(book.note(HERE, "unknown", true, now + Duration::from_secs(61)).record);
        assert_eq!(book.0.lock().unwrap().networks.len(), 1);
    }

    #[test]
    fn a_network_is_what_one_host_can_be() {
        let network = |text: &str| SourceNetwork::of(text.parse().unwrap()).to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    }
}
