//! The connections of one listener: bounded in all and for one caller (see [`crate::access::shares`]), and an idle one makes
//! room for a newcomer.
//!
//! Nobody is asked to leave while there is room, so idle connections cost no timer. When there is none, the connection that
//! goes is an idle one, of whoever has most, and of those the one that was not used for longest. Idle is: no request is
//! open, nothing is subscribed to, nothing waits to be read by the peer for longer than [`STALLED`].

use super::{
    presence::Presence,
    shares::{Full, Rule},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A peer that has read nothing for so long, while there was something, may be made to leave by a newcomer.
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
    /// Where it comes from: a network, or a local user.
    from: Arc<str>,
    /// Who it is, once that is known.
    who: Option<Who>,
    /// Gone when what it showed does not count any more.
    pass: Option<Presence>,
    /// Requests that are open, and whatever else keeps it in use.
    open: usize,
    used: Instant,
    /// Since when its peer has read nothing of what waits.
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

/// One connection's place; free again when dropped.
#[derive(Debug)]
pub struct Seat {
    seats: Arc<Seats>,
    number: u64,
    evicted: CancellationToken,
}

/// Something that keeps a connection in use.
#[derive(Debug)]
pub struct InUse {
    seats: Arc<Seats>,
    number: u64,
}

impl Seats {
    /// `whole`: connections at once.
    pub fn new(whole: usize) -> Arc<Self> {
        Arc::new(Self { rule: Rule::half(whole), table: Mutex::default() })
    }

    /// A place for a newcomer from `from`, of which there may be `most`. What it does not know yet is who it is:
    /// [`Seat::is`] says so.
    ///
    /// # Errors
    /// [`Full`], when nobody who is idle can make room.
    pub fn sit(self: &Arc<Self>, from: &str, most: usize) -> Result<Arc<Seat>, Full> {
        let mut table = self.lock();
        if table.rows.values().filter(|row| &*row.from == from).count() >= most
            && !table.evict(|_, row| &*row.from == from)
        {
            return Err(Full::Share(most));
        }
        // The reserve of admins is theirs: nobody makes them leave for less.
        if table.rows.len() >= self.rule.whole
            && !table.evict(|_, row| !row.is_admin())
            && !(table.rows.values().filter(|row| row.is_admin()).count() > self.rule.reserve
                && table.evict(|_, row| row.is_admin()))
        {
            return Err(Full::Whole(self.rule.whole));
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

    /// The division of the places.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Closes every connection whose credential was revoked, whatever it is doing.
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
    /// Makes one of those that `among` accepts leave; says whether there was one that could.
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
        // Out of the table at once: it holds no place while it is closed.
        let Some(row) = leaves.and_then(|number| self.rows.remove(&number)) else { return false };
        tracing::debug!(from = %row.from, "closed an idle connection: its place is needed");
        row.evicted.cancel();
        true
    }
}

impl Seat {
    /// Says who it is, and what is gone when that does not count any more. A request of somebody else on the same connection
    /// changes both.
    ///
    /// # Errors
    /// [`Full`], when the caller has its share of connections, or only the reserve is left, and none of them is idle.
    pub fn is(&self, principal: &str, is_admin: bool, pass: Option<&Presence>) -> Result<(), Full> {
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
                Full::Share(_) => table.evict(|other, row| other != number && own(row)),
                Full::Whole(_) => table.evict(|other, row| other != number && row.is_weak()),
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

    /// It is in use until the returned value is dropped.
    pub fn in_use(&self) -> InUse {
        self.seats.change(self.number, |row| row.open += 1);
        InUse { seats: Arc::clone(&self.seats), number: self.number }
    }

    /// Its peer has read nothing since then; `None`: it has read, or has nothing to read.
    pub fn stalled(&self, since: Option<Instant>) {
        self.seats.change(self.number, |row| row.stalled = since);
    }

    /// Returns when a newcomer has got its place: close it at once.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().rows.remove(&self.number);
    }
}

impl Drop for InUse {
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

    /// Time passes: seats differ in when they were used.
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
        assert_eq!(seats.sit("192.0.2.1", 2).unwrap_err(), Full::Share(2));
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
            Ok::<_, Full>(())
        };
        for _ in 0..4 {
            busy("a", false).unwrap();
        }
        assert_eq!(busy("a", false), Err(Full::Share(4)));
        for _ in 0..3 {
            busy("b", false).unwrap();
        }
        assert_eq!(busy("c", false), Err(Full::Whole(8)));
        busy("root", true).unwrap();
        assert_eq!(busy("root", true), Err(Full::Whole(8)));
        // An idle one of its own makes room, nobody else's.
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
        assert_eq!(seats.sit("b", ANY).unwrap_err(), Full::Whole(1));
        tick().await;
        assert!(seats.sit("b", ANY).is_ok() && left(&seat));
    }
}
