//! Shares of the store: no caller's records may displace those of others.
//!
//! Records are only appended and only trimmed from the front, so shares are enforced when records are added. Each
//! caller has an account of the bytes of its records, which decays evenly over a week. For a caller beyond its share,
//! reads and refusals are counted ([`super::gather`]) and writes are recorded without their arguments. At the start the
//! accounts are loaded from the store.

use super::reads::Reads;
use contract::audit::{
    limit::cut,
    record::{MAX_NAME, ROW_OVERHEAD, now_ms},
};
use contract::meta::Role;
use rusqlite::{Connection, params};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// Divisor of the store for one caller in [`WEEK`]: an eighth.
const OF_ONE: u64 = 8;
/// The same for callers that may only read, including anonymous ones.
const OF_WEAK: u64 = 16;
/// The same for a group of callers whose names can be chosen freely: subjects of JWTs, accounts of this machine.
const OF_GROUP: u64 = 4;
const DAY: Duration = Duration::from_secs(24 * 3600);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
/// Most accounts; beyond that the smallest is dropped.
const ACCOUNTS: usize = 512;
/// Most rows with several callers that are parsed at the start, newest first: some MiB.
const MIXED_ROWS: i64 = 512;

/// The accounts of all callers.
#[derive(Default)]
pub(super) struct Shares {
    max_bytes: u64,
    accounts: HashMap<String, Account>,
    pub(super) loaded: bool,
}

struct Account {
    used: f64,
    at: Instant,
}

impl Shares {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Charges `bytes` to a caller and to its group.
    pub(super) fn charge(&mut self, principal: &str, bytes: usize, now: Instant) {
        if principal.is_empty() {
            return;
        }
        let principal = cut(principal, MAX_NAME);
        self.add(&principal, bytes, now);
        if let Some(group) = group(&principal) {
            self.add(group, bytes, now);
        }
    }

    fn add(&mut self, name: &str, bytes: usize, now: Instant) {
        if !self.accounts.contains_key(name) && self.accounts.len() >= ACCOUNTS {
            let by_size =
                |a: &(&String, &Account), b: &(&String, &Account)| self.left(a.1, now).total_cmp(&self.left(b.1, now));
            let smallest = self.accounts.iter().min_by(by_size).map(|(name, _)| name.clone());
            if let Some(smallest) = smallest {
                self.accounts.remove(&smallest);
            }
        }
        let used = self.accounts.get(name).map_or(0.0, |account| self.left(account, now)) + bytes as f64;
        self.accounts.insert(name.to_owned(), Account { used, at: now });
    }

    /// The bytes that still count: they decay by one share a week.
    fn left(&self, account: &Account, now: Instant) -> f64 {
        let elapsed = now.saturating_duration_since(account.at).as_secs_f64() / WEEK.as_secs_f64();
        (account.used - elapsed * (self.max_bytes / OF_ONE) as f64).max(0.0)
    }

    /// Whether this caller, or its group, has used up its share.
    pub(super) fn are_spent(&self, principal: &str, role: Option<Role>, now: Instant) -> bool {
        let principal = cut(principal, MAX_NAME);
        let weak = role.is_none_or(|role| role <= Role::ReadOnly);
        let beyond = |name: &str, part: u64| {
            self.accounts.get(name).is_some_and(|account| self.left(account, now) > (self.max_bytes / part) as f64)
        };
        beyond(&principal, if weak { OF_WEAK } else { OF_ONE })
            || group(&principal).is_some_and(|group| beyond(group, OF_GROUP))
    }
}

/// The group of callers whose names can be chosen freely: `jwt:`, `uid:`. Names of tokens are configured, and root has
/// one name.
fn group(principal: &str) -> Option<&str> {
    let (group, name) = principal.split_once(':')?;
    (group != "token" && name != "0").then_some(group)
}

/// The bytes of each caller's records of the last week. Records that a wrong clock dated later than tomorrow do not count: they would
/// until that day, which may be in years.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Vec<(String, usize)>> {
    load_at(connection, now_ms())
}

fn load_at(connection: &Connection, now_ms: i64) -> rusqlite::Result<Vec<(String, usize)>> {
    let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let (since, until) = (now_ms.saturating_sub(milliseconds(WEEK)), now_ms.saturating_add(milliseconds(DAY)));
    let mut found = Vec::new();
    let mut statement = connection.prepare(
        "SELECT principal, SUM(octet_length(body) + octet_length(tool) + octet_length(principal) + octet_length(outcome) + ?1)
            FROM audit WHERE ts BETWEEN ?2 AND ?4 AND principal <> '' GROUP BY principal ORDER BY 2 DESC LIMIT ?3",
    )?;
    let limits = params![i64::try_from(ROW_OVERHEAD).unwrap_or(0), since, i64::try_from(ACCOUNTS).unwrap_or(0), until];
    let mut rows = statement.query(limits)?;
    while let Some(row) = rows.next()? {
        found.push((row.get(0)?, usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0)));
    }
    let mut statement = connection.prepare(
        "SELECT body FROM audit WHERE ts BETWEEN ?1 AND ?3 AND kind = 'reads' AND principal = '' ORDER BY seq DESC LIMIT ?2",
    )?;
    let mut mixed: HashMap<String, usize> = HashMap::new();
    let mut rows = statement.query(params![since, MIXED_ROWS, until])?;
    while let Some(row) = rows.next()? {
        let body: String = row.get(0)?;
        for (principal, bytes) in Reads::parse(&body).iter().flat_map(Reads::shares) {
            if mixed.len() < ACCOUNTS || mixed.contains_key(&*principal) {
                *mixed.entry(principal.into_owned()).or_default() += bytes;
            }
        }
    }
    found.extend(mixed);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_used_up_and_comes_back_within_a_week() {
        let (mut shares, now) = (Shares::new(8000), Instant::now());
        shares.charge("token:a", 1001, now);
        assert!(shares.are_spent("token:a", Some(Role::Admin), now));
        assert!(!shares.are_spent("token:b", Some(Role::Admin), now));
        assert!(!shares.are_spent("token:a", Some(Role::Admin), now + WEEK / 2));
        assert!(!shares.are_spent("token:a", None, now + WEEK));
        shares.charge("loopback", 501, now);
        assert!(shares.are_spent("loopback", Some(Role::ReadOnly), now));
        assert!(!shares.are_spent("loopback", Some(Role::OpsRw), now));
    }

    #[test]
    fn records_of_the_last_week_count_and_not_those_of_a_clock_that_was_wrong() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::audit::chain::ensure(&mut connection).unwrap();
        let (now, day) = (1_800_000_000_000, i64::try_from(DAY.as_millis()).unwrap());
        for (principal, days) in
            [("token:now", 0), ("token:old", -8), ("token:hours_ahead", 0), ("token:years_ahead", 400)]
        {
            connection
                .execute(
                    "INSERT INTO audit (ts, kind, tool, principal, outcome, hash, body) VALUES (?1, 'call', 't', ?2, 'ok', x'', 'abc')",
                    params![now + days * day, principal],
                )
                .unwrap();
        }
        let mut counted: Vec<String> =
            load_at(&connection, now - day / 2).unwrap().into_iter().map(|(name, _)| name).collect();
        counted.sort();
        assert_eq!(counted, ["token:hours_ahead", "token:now"]);
    }

    #[test]
    fn made_up_names_share_one_share() {
        let (mut shares, now) = (Shares::new(8000), Instant::now());
        for n in 0..10_000 {
            shares.charge(&format!("jwt:{n}"), 1, now);
        }
        assert!(shares.are_spent("jwt:new", Some(Role::Admin), now));
        assert!(!shares.are_spent("uid:1000", Some(Role::Admin), now));
        assert!(shares.accounts.len() <= ACCOUNTS);
        shares.charge("uid:1000", 5000, now);
        assert!(shares.are_spent("uid:1001", Some(Role::Admin), now));
        assert!(!shares.are_spent("uid:0", Some(Role::Admin), now), "root's own is not used up by others");
    }
}
