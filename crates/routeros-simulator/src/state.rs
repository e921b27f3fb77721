//! What a router has: its tables, its clock, its faults.

use crate::{
    clock::date_and_time,
    fault::Fault,
    menus::Menu,
    profile::Profile,
    table::{Row, RowId},
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, time::Duration};

/// What a router has. Everything but the time since the boot survives a reboot.
pub(crate) struct State {
    pub profile: Profile,
    pub tables: BTreeMap<&'static str, Vec<Row>>,
    pub singletons: BTreeMap<&'static str, Map<String, Value>>,
    pub next_id: u32,
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
    /// See [`crate::Router::written`].
    pub written: Vec<String>,
    /// How many requests came by HTTPS.
    pub requests: u64,
    /// Bytes of all answers over HTTPS, without their headers.
    pub sent_bytes: u64,
}

impl State {
    pub fn new(profile: Profile) -> Self {
        Self {
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
            written: Vec::new(),
            requests: 0,
            sent_bytes: 0,
        }
    }

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

    pub fn set_clock_at(&mut self, at: Duration, seconds: u64) {
        self.clock_offset = seconds.cast_signed() - at.as_secs().cast_signed();
    }

    pub fn tell(&mut self, topics: &str, message: &str) {
        let time = date_and_time(self.clock());
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
