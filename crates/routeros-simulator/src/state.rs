//! The router: its tables, its clock, and who waits for it.

use crate::{
    fault::Fault,
    initial, management,
    menus::Menu,
    profile::Profile,
    request::{self, Answer, Request},
    scheduler,
    table::{Row, RowId},
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// How long a reboot takes.
pub const REBOOT: Duration = Duration::from_secs(20);

/// A simulated router. Cheap to clone: clones are the same router.
#[derive(Clone)]
pub struct Router {
    state: Arc<Mutex<State>>,
    /// Counts changes of what may let a packet through.
    changed: Arc<watch::Sender<u64>>,
}

/// What a router has. Everything but the time since the boot survives a reboot.
pub(crate) struct State {
    pub profile: Profile,
    pub tables: BTreeMap<&'static str, Vec<Row>>,
    pub singletons: BTreeMap<&'static str, Map<String, Value>>,
    next_id: u32,
    /// Since the router was made.
    pub now: Duration,
    /// When it was started last.
    pub booted: Duration,
    /// Until when it is down.
    pub down_until: Duration,
    /// What the clock shows, in seconds since 1970 UTC, less `now`.
    pub clock_offset: i64,
    /// Whether its clock runs on while it is down. Most boards have no battery: their clocks begin in 1970.
    pub has_battery: bool,
    pub faults: Vec<Fault>,
    /// When entries of the scheduler run next, by their ids.
    pub timers: BTreeMap<RowId, Duration>,
    /// How many writes were done.
    pub writes: u64,
}

impl Router {
    /// As it comes: `bridge` with `ether2` to `ether5` and 192.168.88.1, a DHCP client on `ether1`, MikroTik's firewall.
    pub fn new(profile: Profile) -> Self {
        let mut state = State {
            profile,
            tables: BTreeMap::new(),
            singletons: BTreeMap::new(),
            next_id: 1,
            now: Duration::ZERO,
            booted: Duration::ZERO,
            down_until: Duration::ZERO,
            // 2026-11-26 08:00:00 UTC.
            clock_offset: 1_795_680_000,
            has_battery: false,
            faults: Vec::new(),
            timers: BTreeMap::new(),
            writes: 0,
        };
        initial::fill(&mut state);
        Self { state: Arc::new(Mutex::new(state)), changed: Arc::new(watch::Sender::new(0)) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request as if it had come through. See [`Router::admits`] for whether it would.
    pub fn answer(&self, request: &Request) -> Answer {
        let answer = request::answer(&mut self.lock(), request);
        self.wake();
        answer
    }

    /// Whether a packet of the client comes through: `is_new` for the first one of a connection.
    pub fn admits(&self, is_new: bool) -> bool {
        let state = self.lock();
        state.now >= state.down_until && management::admits(&state, is_new)
    }

    /// When the router was started last; connections from before are dead.
    pub(crate) fn booted(&self) -> Duration {
        self.lock().booted
    }

    /// Follows whatever may let packets through.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Lets time pass, and runs what the scheduler has to run in it, in order.
    pub fn advance(&self, by: Duration) {
        let until = self.lock().now + by;
        scheduler::run(&mut self.lock(), until);
        self.wake();
    }

    /// The time since this router was made.
    pub fn now(&self) -> Duration {
        self.lock().now
    }

    /// Starts it anew, as a power cut does.
    pub fn reboot(&self) {
        self.lock().reboot();
        self.wake();
    }

    /// A clock with a battery runs on during a reboot.
    pub fn has_battery(&self, has: bool) {
        self.lock().has_battery = has;
    }

    /// Sets a fault; a [`Fault::ClockJump`] happens at once.
    pub fn fault(&self, fault: Fault) {
        let mut state = self.lock();
        match fault {
            Fault::ClockJump(seconds) => state.set_clock(seconds),
            other => state.faults.push(other),
        }
    }

    /// Takes all faults away.
    pub fn mend(&self) {
        self.lock().faults.clear();
    }

    /// What `/export` prints: the whole configuration without secrets.
    pub fn export(&self) -> String {
        crate::export::text(&self.lock(), "")
    }

    /// The rows of a menu as they are listed, such as `ip/address`.
    pub fn rows(&self, menu: &str) -> Vec<Row> {
        self.lock().rows(menu)
    }

    /// How many writes were done: `add`, `set`, `remove`, commands that change something.
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }
}

impl State {
    pub fn menu(&self, path: &str) -> Option<Menu> {
        Menu::of(self.profile, path)
    }

    pub fn stored(&self, path: &str) -> &[Row] {
        self.tables.get(path).map_or(&[], Vec::as_slice)
    }

    pub fn stored_mut(&mut self, path: &'static str) -> &mut Vec<Row> {
        self.tables.entry(path).or_default()
    }

    pub fn new_id(&mut self) -> RowId {
        self.next_id += 1;
        RowId(self.next_id - 1)
    }

    pub fn add(&mut self, path: &'static str, fields: &[(&str, &str)]) -> RowId {
        let id = self.new_id();
        self.stored_mut(path).push(Row::new(id, fields));
        id
    }

    pub fn reboot(&mut self) {
        self.down_until = self.now + REBOOT;
        self.booted = self.down_until;
        if !self.has_battery {
            self.set_clock_at(self.booted, 0);
        }
        // What lived in memory alone is gone.
        for path in ["log", "ip/dns/cache"] {
            self.stored_mut(path).clear();
        }
        self.stored_mut("ip/firewall/address-list").retain(|row| !row.is("dynamic"));
        scheduler::boot(self);
    }

    pub fn uptime(&self) -> Duration {
        self.now.saturating_sub(self.booted)
    }

    /// Seconds since 1970 UTC, as its clock has it.
    pub fn clock(&self) -> u64 {
        u64::try_from(self.clock_offset + self.now.as_secs().cast_signed()).unwrap_or(0)
    }

    pub fn set_clock(&mut self, seconds: u64) {
        self.set_clock_at(self.now, seconds);
    }

    fn set_clock_at(&mut self, at: Duration, seconds: u64) {
        self.clock_offset = seconds.cast_signed() - at.as_secs().cast_signed();
    }

    pub fn tell(&mut self, topics: &str, message: &str) {
        let time = crate::derived::date_and_time(self.clock());
        self.add("log", &[("time", &time), ("buffer", "memory"), ("topics", topics), ("message", message)]);
        let log = self.stored_mut("log");
        if log.len() > 1_000 {
            log.remove(0);
        }
    }

    /// Takes a fault that is `like` this, if it is set.
    pub fn take_fault(&mut self, like: impl Fn(&Fault) -> bool) -> bool {
        let at = self.faults.iter().position(like);
        at.map(|at| self.faults.remove(at)).is_some()
    }
}
