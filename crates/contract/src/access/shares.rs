//! How much of a shared pool one caller may take. All credentials of one owner are one caller, where the configuration
//! names the owner; otherwise one principal is: a token, a JWT's subject, a local user, or all anonymous programs on
//! this machine.
//!
//! Every pool has a [`Rule`]: a limit for the whole, a share for one caller, and a reserve that only admins (root,
//! `raspi-mcp-admin`, admin tokens) can take. Admins have no share: they may use the whole.
//!
//! | pool | whole | share of one caller | reserve for admins |
//! | --- | --- | --- | --- |
//! | calls that run | `limits.max_concurrent_requests` | half | an eighth |
//! | calls that wait for their turn | `limits.max_waiting_requests` | half | an eighth |
//! | long waits and streams | `limits.max_streams` | half | an eighth |
//! | calls that wait for an approval | [`APPROVALS`] | four, as the agent has it for asks ([`ASKS`]) | an eighth |
//! | `subscriptions/listen` requests | [`LISTENS`] | a quarter | an eighth |
//! | subscriptions | `resources::subscriptions::IN_ALL` | a quarter | an eighth |
//! | tasks | [`TASKS`] | a quarter | an eighth |
//! | HTTP sessions | `http.session_limit` | half | an eighth |
//! | TCP connections, WebSockets included | `http.max_connections` | half; a quarter for a network beyond loopback | an eighth |
//! | unix socket connections | `socket.max_connections` | half | an eighth |
//!
//! Half, because all anonymous clients on loopback are one caller and have to work at the same time.

use super::caller::Caller;
use crate::meta::Role;
use base::error::ToolError;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Calls that wait for a person's answer, and asks of the agent: a person can keep track of 32.
pub const APPROVALS: usize = 32;
/// One caller has four of them, so that it cannot crowd out the others. Both halves divide alike: calls that the agent is about to
/// refuse would otherwise take the places of others in the server.
pub const ASKS: Rule = Rule { whole: APPROVALS, share: 4, reserve: 4 };
/// Open `subscriptions/listen` requests.
pub const LISTENS: usize = 64;
/// Tasks whose state is kept (running, or ended in the last few minutes).
pub const TASKS: usize = 128;
/// Minimum share, unless the whole is smaller: a small pool cannot be divided.
const LEAST_SHARE: usize = 3;

/// The division of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub whole: usize,
    /// Maximum for one caller without admin role.
    pub share: usize,
    /// The part of the whole that only admins can take.
    pub reserve: usize,
}

impl Rule {
    /// Half of the whole for one caller.
    pub const fn half(whole: usize) -> Self {
        Self::part(whole, 2)
    }

    /// A quarter of the whole for one caller.
    pub const fn quarter(whole: usize) -> Self {
        Self::part(whole, 4)
    }

    const fn part(whole: usize, parts: usize) -> Self {
        let (part, least) = (whole.div_ceil(parts), if whole < LEAST_SHARE { whole } else { LEAST_SHARE });
        let reserve = if whole > LEAST_SHARE { whole.div_ceil(8) } else { 0 };
        Self { whole, share: if part > least { part } else { least }, reserve }
    }

    /// Whether one more place can be given to a caller that has `own`, when callers without admin role have `weak` and
    /// all callers together have `all`.
    ///
    /// # Errors
    /// [`PoolFull`]
    pub const fn admits(&self, is_admin: bool, own: usize, weak: usize, all: usize) -> Result<(), PoolFull> {
        if !is_admin && own >= self.share && self.share < self.whole {
            return Err(PoolFull::Share(self.share));
        }
        if all >= self.whole || (!is_admin && weak >= self.whole - self.reserve) {
            return Err(PoolFull::Whole(self.whole));
        }
        Ok(())
    }
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolFull {
    /// The caller has its share, of this size.
    Share(usize),
    /// All of this many are taken, except perhaps the reserve.
    Whole(usize),
}

impl PoolFull {
    /// `what` names what is counted, in the plural: "calls".
    pub fn error(self, what: &str) -> ToolError {
        match self {
            Self::Share(share) => ToolError::exhausted(format!("this caller has {share} {what} already, its share"))
                .with("limit", share)
                .with("limit_of", "caller"),
            Self::Whole(whole) => ToolError::exhausted(format!("there are {whole} {what} already"))
                .with("limit", whole)
                .with("limit_of", "server"),
        }
        .hint("wait for one to end and try again")
    }
}

/// Whether a caller may use the reserve and exceed a share.
pub fn is_admin(caller: &Caller) -> bool {
    caller.role >= Role::Admin
}

/// The number of taken places, in total and per caller.
#[derive(Debug, Default)]
pub struct Occupancy {
    pub all: usize,
    weak: usize,
    by: HashMap<String, usize>,
}

impl Occupancy {
    /// # Errors
    /// [`PoolFull`]
    pub fn admits(&self, rule: &Rule, caller: &Caller) -> Result<(), PoolFull> {
        let own = self.by.get(&*caller.party()).copied().unwrap_or_default();
        rule.admits(is_admin(caller), own, self.weak, self.all)
    }

    pub fn add(&mut self, caller: &Caller) {
        self.all += 1;
        self.weak += usize::from(!is_admin(caller));
        let party = caller.party();
        match self.by.get_mut(&*party) {
            Some(own) => *own += 1,
            None => drop(self.by.insert(party.into_owned(), 1)),
        }
    }

    pub fn remove(&mut self, caller: &Caller) {
        self.all -= 1;
        self.weak -= usize::from(!is_admin(caller));
        let party = caller.party();
        if let Some(own) = self.by.get_mut(&*party) {
            *own -= 1;
            if *own == 0 {
                self.by.remove(&*party);
            }
        }
    }
}

/// A pool without a queue.
#[derive(Debug)]
pub struct Pool {
    rule: Rule,
    taken: Mutex<Occupancy>,
}

/// One taken place, freed when dropped.
#[derive(Debug)]
pub struct PoolPlace {
    pool: Arc<Pool>,
    caller: Arc<Caller>,
}

impl Pool {
    pub fn new(rule: Rule) -> Arc<Self> {
        Arc::new(Self { rule, taken: Mutex::default() })
    }

    /// # Errors
    /// [`PoolFull`]
    pub fn take(self: &Arc<Self>, caller: &Arc<Caller>) -> Result<PoolPlace, PoolFull> {
        let mut taken = self.lock();
        taken.admits(&self.rule, caller)?;
        taken.add(caller);
        Ok(PoolPlace { pool: Arc::clone(self), caller: Arc::clone(caller) })
    }

    pub fn count(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Occupancy> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PoolPlace {
    fn drop(&mut self) {
        self.pool.lock().remove(&self.caller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::caller::Transport;

    fn who(name: &str, role: Role) -> Arc<Caller> {
        Arc::new(Caller::new(name, role, Transport::Http))
    }

    #[test]
    fn pools_are_divided_as_the_table_says() {
        let divided = |rule: Rule| (rule.whole, rule.share, rule.reserve);
        assert_eq!(
            [1, 2, 3, 4, 10, 32].map(|whole| divided(Rule::half(whole))),
            [(1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 3, 1), (10, 5, 2), (32, 16, 4)]
        );
        assert_eq!(divided(Rule::quarter(256)), (256, 64, 32));
        assert_eq!(divided(Rule::half(0)), (0, 0, 0));
    }

    #[test]
    fn one_caller_gets_its_share_and_all_of_them_leave_the_reserve() {
        let pool = Pool::new(Rule::half(10));
        let weak = [who("a", Role::ReadOnly), who("b", Role::OpsRw), who("c", Role::ReadOnly)];
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(pool.take(&weak[0]).unwrap());
        }
        assert_eq!(pool.take(&weak[0]).unwrap_err(), PoolFull::Share(5));
        for _ in 0..3 {
            held.push(pool.take(&weak[1]).unwrap());
        }
        assert_eq!(pool.take(&weak[1]).unwrap_err(), PoolFull::Whole(10));
        assert_eq!(pool.take(&weak[2]).unwrap_err(), PoolFull::Whole(10));
        let root = who("uid:0", Role::Admin);
        held.push(pool.take(&root).unwrap());
        held.push(pool.take(&root).unwrap());
        assert_eq!(pool.take(&root).unwrap_err(), PoolFull::Whole(10));
        drop(held);
        assert_eq!(pool.count(), 0);
        assert!(pool.lock().by.is_empty(), "names are not kept");
        let _all: Vec<_> = (0..10).map(|_| pool.take(&root).unwrap()).collect();
    }
}
