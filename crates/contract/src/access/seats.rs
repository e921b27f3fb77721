//! The connections of one listener. Their number is limited in total and per caller (see [`crate::access::shares`]),
//! and an idle connection is closed when a new one needs its place.
//!
//! Nothing is closed while there is room, so idle connections need no timer. Otherwise the connection closed is an idle
//! one of the caller or network with the most connections, and of those the least recently used one. Idle means: no
//! open request, no subscription, and no data that the peer has left unread for longer than [`STALLED`].

use super::{
    presence::Presence,
    shares::{PoolFull, Rule},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A connection whose peer has read nothing of pending data for this long may be closed for a new one.
pub const STALLED: Duration = Duration::from_secs(10);

/// All connections of one listener.
#[derive(Debug)]
pub struct Seats {
    rule: Rule,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    rows: BTreeMap<u64, Row>,
}

#[derive(Debug)]
struct Row {
    /// Its source: a network or a local user.
    from: Arc<str>,
    /// The caller, once it is known.
    who: Option<Who>,
    /// Gone once the presented credential is no longer valid.
    pass: Option<Presence>,
    /// Open requests and other uses that keep it from being idle.
    open: usize,
    used: Instant,
    /// Since when its peer has not read pending data.
    stalled: Option<Instant>,
    evicted: CancellationToken,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Who {
    name: Arc<str>,
    is_admin: bool,
}

impl Row {
    fn is_admin(&self) -> bool {
        self.who.as_ref().is_some_and(|who| who.is_admin)
    }

    fn is_weak(&self) -> bool {
        self.who.as_ref().is_some_and(|who| !who.is_admin)
    }

    fn group(&self) -> &Arc<str> {
        self.who.as_ref().map_or(&self.from, |who| &who.name)
    }

    fn may_go(&self, now: Instant) -> bool {
        match self.stalled {
            Some(since) => now.saturating_duration_since(since) >= STALLED,
            None => self.open == 0,
        }
    }
}

/// One connection's place, freed when dropped.
#[derive(Debug)]
pub struct Seat {
    seats: Arc<Seats>,
    number: u64,
    evicted: CancellationToken,
}

/// Keeps a connection in use until dropped.
#[derive(Debug)]
pub struct ConnectionUse {
    seats: Arc<Seats>,
    number: u64,
}

impl Seats {
    /// `whole`: maximum number of connections at once.
    pub fn new(whole: usize) -> Arc<Self> {
        Arc::new(Self { rule: Rule::half(whole), table: Mutex::default() })
    }

    /// A place for a new connection from `from`, which may have at most `most`. The caller is not known yet;
    /// [`Seat::is`] sets it.
    ///
    /// # Errors
    /// [`PoolFull`], when there is no idle connection that may be closed.
    pub fn sit(self: &Arc<Self>, from: &str, most: usize) -> Result<Arc<Seat>, PoolFull> {
        let mut table = self.lock();
        if table.rows.values().filter(|row| &*row.from == from).count() >= most
            && !table.evict(|_, row| &*row.from == from)
        {
            return Err(PoolFull::Share(most));
        }
        // Connections of admins within their reserve are never closed for a new connection.
        if table.rows.len() >= self.rule.whole
            && !table.evict(|_, row| !row.is_admin())
            && !(table.rows.values().filter(|row| row.is_admin()).count() > self.rule.reserve
                && table.evict(|_, row| row.is_admin()))
        {
            return Err(PoolFull::Whole(self.rule.whole));
        }
        table.next += 1;
        let (number, evicted) = (table.next, CancellationToken::new());
        let row = Row {
            from: from.into(),
            who: None,
            pass: None,
            open: 0,
            used: Instant::now(),
            stalled: None,
            evicted: evicted.clone(),
        };
        table.rows.insert(number, row);
        Ok(Arc::new(Seat { seats: Arc::clone(self), number, evicted }))
    }

    /// The limits of the listener.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// How many connections each known caller has, by [`crate::access::caller::Caller::party`].
    pub fn callers(&self) -> BTreeMap<Arc<str>, usize> {
        let mut all = BTreeMap::new();
        for who in self.lock().rows.values().filter_map(|row| row.who.as_ref()) {
            *all.entry(Arc::clone(&who.name)).or_default() += 1;
        }
        all
    }

    /// Closes every connection whose credential was revoked, even while it is in use.
    pub fn close_revoked(&self) {
        let revoked = |row: &Row| row.pass.as_ref().is_some_and(Presence::is_gone);
        self.lock().rows.retain(|_, row| {
            if revoked(row) {
                row.evicted.cancel();
            }
            !revoked(row)
        });
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.lock().rows.get_mut(&number) {
            change(row);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Closes one of the connections that `among` accepts. Returns whether one could be closed.
    fn evict(&mut self, among: impl Fn(u64, &Row) -> bool) -> bool {
        let now = Instant::now();
        let mut sizes: HashMap<&Arc<str>, usize> = HashMap::new();
        for row in self.rows.values() {
            *sizes.entry(row.group()).or_default() += 1;
        }
        let leaves = self
            .rows
            .iter()
            .filter(|(number, row)| row.may_go(now) && among(**number, row))
            .max_by_key(|(number, row)| (sizes[row.group()], std::cmp::Reverse((row.used, **number))))
            .map(|(number, _)| *number);
        // Removed at once: it has no place while it is being closed.
        let Some(row) = leaves.and_then(|number| self.rows.remove(&number)) else { return false };
        tracing::debug!(from = %row.from, "closed an idle connection: its place is needed");
        row.evicted.cancel();
        true
    }
}

impl Seat {
    /// Sets the caller, and the pass that is gone when its credential is no longer valid. A request of another caller
    /// on the same connection changes both.
    ///
    /// # Errors
    /// [`PoolFull`], when the caller has its share of connections, or only the reserve is left, and none of the connections
    /// in question is idle.
    pub fn is(&self, principal: &str, is_admin: bool, pass: Option<&Presence>) -> Result<(), PoolFull> {
        let rule = &self.seats.rule;
        let mut table = self.seats.lock();
        let Some(row) = table.rows.get_mut(&self.number) else { return Ok(()) };
        row.pass = pass.cloned();
        if row.who.as_ref().is_some_and(|who| &*who.name == principal && who.is_admin == is_admin) {
            return Ok(());
        }
        let number = self.number;
        let own = |row: &Row| row.who.as_ref().is_some_and(|who| &*who.name == principal);
        loop {
            let others = |of: &dyn Fn(&Row) -> bool| {
                table.rows.iter().filter(|(other, row)| **other != number && of(row)).count()
            };
            let full = match rule.admits(is_admin, others(&own), others(&Row::is_weak), 0) {
                Ok(()) => break,
                Err(full) => full,
            };
            let made_room = match full {
                PoolFull::Share(_) => table.evict(|other, row| other != number && own(row)),
                PoolFull::Whole(_) => table.evict(|other, row| other != number && row.is_weak()),
            };
            if !made_room {
                return Err(full);
            }
        }
        if let Some(row) = table.rows.get_mut(&number) {
            row.who = Some(Who { name: principal.into(), is_admin });
        }
        Ok(())
    }

    /// Marks the connection as in use until the returned value is dropped.
    pub fn in_use(&self) -> ConnectionUse {
        self.seats.change(self.number, |row| row.open += 1);
        ConnectionUse { seats: Arc::clone(&self.seats), number: self.number }
    }

    /// Records since when its peer has read nothing; `None` if it has read, or has nothing to read.
    pub fn stalled(&self, since: Option<Instant>) {
        self.seats.change(self.number, |row| row.stalled = since);
    }

    /// Returns when the place was given to another connection; close this one at once.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().rows.remove(&self.number);
    }
}

impl Drop for ConnectionUse {
    fn drop(&mut self) {
        self.seats.change(self.number, |row| {
            row.open -= 1;
            row.used = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    const ANY: usize = usize::MAX;

    fn left(seat: &Seat) -> bool {
        seat.evicted().now_or_never().is_some()
    }

    /// Advances the clock, so that seats differ in their time of last use.
    async fn tick() {
        tokio::time::advance(Duration::from_millis(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_of_whoever_has_most_makes_room() {
        let seats = Seats::new(8);
        let mut flood = Vec::new();
        let other = seats.sit("b", ANY).unwrap();
        other.is("other", false, None).unwrap();
        for _ in 0..7 {
            tick().await;
            flood.push(seats.sit("a", ANY).unwrap());
        }
        let busy = flood[0].in_use();
        tick().await;
        let newcomer = seats.sit("c", ANY).unwrap();
        assert!(left(&flood[1]), "the oldest that is idle");
        assert!(!left(&flood[0]) && !left(&other) && !left(&newcomer));
        drop(busy);
        assert!(seats.sit("c", ANY).is_ok() && left(&flood[2]) && !left(&flood[0]), "it was used since");
    }

    #[tokio::test(start_paused = true)]
    async fn one_network_leaves_room_for_others() {
        let seats = Seats::new(8);
        let here: Vec<_> = (0..2).map(|_| seats.sit("192.0.2.1", 2).unwrap()).collect();
        let busy: Vec<_> = here.iter().map(|seat| seat.in_use()).collect();
        assert_eq!(seats.sit("192.0.2.1", 2).unwrap_err(), PoolFull::Share(2));
        assert!(seats.sit("192.0.2.2", 2).is_ok());
        drop(busy);
        assert!(seats.sit("192.0.2.1", 2).is_ok() && left(&here[0]) && !left(&here[1]));
        drop(here);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_has_its_share_and_admins_their_reserve() {
        let seats = Seats::new(8);
        let mut held = Vec::new();
        let mut busy = |principal: &str, is_admin| {
            let seat = seats.sit("here", ANY)?;
            seat.is(principal, is_admin, None)?;
            let in_use = seat.in_use();
            held.push((seat, in_use));
            Ok::<_, PoolFull>(())
        };
        for _ in 0..4 {
            busy("a", false).unwrap();
        }
        assert_eq!(busy("a", false), Err(PoolFull::Share(4)));
        for _ in 0..3 {
            busy("b", false).unwrap();
        }
        assert_eq!(busy("c", false), Err(PoolFull::Whole(8)));
        busy("root", true).unwrap();
        assert_eq!(busy("root", true), Err(PoolFull::Whole(8)));
        // Only an idle connection of the same caller makes room.
        held[0].1 = held[1].0.in_use();
        let seat = seats.sit("here", ANY).unwrap();
        assert!(left(&held[0].0));
        seat.is("a", false, None).unwrap();
        assert!(!left(&held[1].0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_leaves_for_a_newcomer_after_a_while() {
        let seats = Seats::new(1);
        let seat = seats.sit("a", ANY).unwrap();
        let _busy = seat.in_use();
        seat.stalled(Some(Instant::now()));
        tokio::time::advance(STALLED - Duration::from_millis(1)).await;
        assert_eq!(seats.sit("b", ANY).unwrap_err(), PoolFull::Whole(1));
        tick().await;
        assert!(seats.sit("b", ANY).is_ok() && left(&seat));
    }
}
