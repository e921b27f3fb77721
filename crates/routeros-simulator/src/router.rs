//! The router as tests and the listener hold it.

use crate::{
    export,
    fault::Fault,
    initial, management,
    profile::Profile,
    request::{Answer, Request},
    rest, scheduler,
    state::State,
    table::Row,
    timers,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// A simulated router. Cheap to clone: clones are the same router.
#[derive(Clone)]
pub struct Router {
    state: Arc<Mutex<State>>,
    /// Counts changes of what may let a packet through.
    changed: Arc<watch::Sender<u64>>,
}

impl Router {
    /// As it comes: `bridge` with `ether2` to `ether5` and 192.168.88.1, a DHCP client on `ether1`, MikroTik's firewall.
    pub fn new(profile: Profile) -> Self {
        let mut state = State::new(profile);
        initial::fill(&mut state);
        Self { state: Arc::new(Mutex::new(state)), changed: Arc::new(watch::Sender::new(0)) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request as if it had come through. See [`Router::admits`] for whether it would.
    pub fn answer(&self, request: &Request) -> Answer {
        let mut state = self.lock();
        let answer = rest::answer(&mut state, request);
        if answer.wrote {
            let body = serde_json::Value::Object(request.body.clone());
            state.written.push(format!("{} {} {body}", request.method, request.path));
        }
        drop(state);
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
        timers::reboot(&mut self.lock());
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
        export::text(&self.lock(), "")
    }

    /// The rows of a menu as they are listed, such as `ip/address`.
    pub fn rows(&self, menu: &str) -> Vec<Row> {
        self.lock().rows(menu)
    }

    /// Rows that the router has of itself, such as routes that it learned and leases that it gave.
    pub fn add_dynamic_rows(&self, menu: &'static str, rows: impl IntoIterator<Item = Vec<(&'static str, String)>>) {
        let dynamic = || std::iter::once(("dynamic", "true".to_owned()));
        self.add_rows(menu, rows.into_iter().map(|fields| fields.into_iter().chain(dynamic()).collect()));
    }

    /// Rows as the owner wrote them, without looking whether a router would take them.
    pub fn add_rows(&self, menu: &'static str, rows: impl IntoIterator<Item = Vec<(&'static str, String)>>) {
        let mut state = self.lock();
        for fields in rows {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            state.add(menu, &fields);
        }
    }

    /// Waits until so many requests have come by HTTPS.
    pub async fn has_heard(&self, requests: u64) {
        let mut changes = self.changes();
        while self.lock().requests < requests && changes.changed().await.is_ok() {}
    }

    /// Waits until no new connection of the client would come through.
    pub async fn is_cut_off(&self) {
        let mut changes = self.changes();
        while self.admits(true) && changes.changed().await.is_ok() {}
    }

    /// How many requests came by HTTPS.
    pub fn requests(&self) -> u64 {
        self.lock().requests
    }

    /// Bytes of all answers over HTTPS, without their headers.
    pub fn sent_bytes(&self) -> u64 {
        self.lock().sent_bytes
    }

    pub(crate) fn hears(&self) {
        self.lock().requests += 1;
        self.wake();
    }

    /// The requests that wrote something, oldest first: method, path and body.
    pub fn written(&self) -> Vec<String> {
        self.lock().written.clone()
    }

    /// How many writes were done: `add`, `set`, `remove`, commands that change something.
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }
}
