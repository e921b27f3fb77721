//! What changed in the fleet, a sentence each.

use super::{
    Console, StatusBook,
    book::{AcceptedStatus, Taken},
    clones::CloneSeen,
    report::{DeviceHealth, DeviceRow, Silence},
};
use crate::broker::stream::StreamReader;
use base::error::ToolError;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The wait before the broker is asked again after it refused to deliver.
const AGAIN: Duration = Duration::from_secs(5);

/// What changed.
#[derive(Debug, PartialEq, Eq)]
pub struct FleetChange {
    /// The device, or what the subject named.
    pub name: String,
    pub what: String,
    pub kind: ChangeKind,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A new status of the device.
    Status,
    /// The device became silent.
    Silent,
    /// Two machines of one identity.
    Clone,
    /// A message that was refused.
    Refused,
    /// The broker does not deliver.
    Broker,
}

/// A table of statuses that others read while it is kept up to date.
#[derive(Clone)]
pub struct SharedBook(Arc<Mutex<StatusBook>>);

impl SharedBook {
    pub fn new(book: StatusBook) -> Self {
        Self(Arc::new(Mutex::new(book)))
    }

    pub fn lock(&self) -> MutexGuard<'_, StatusBook> {
        // A message is taken or not: there is nothing in between.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fleet that is being watched.
pub struct FleetWatch {
    console: Arc<Console>,
    book: SharedBook,
    reader: StreamReader,
    after_ms: i64,
    healths: HashMap<String, DeviceHealth>,
    /// When the next device may become silent.
    due: Instant,
    /// Whether the broker does not deliver, which was said.
    broken: bool,
}

impl FleetWatch {
    /// # Errors
    /// As [`Console::statuses`].
    pub async fn start(console: Arc<Console>, after_ms: i64) -> Result<Self, ToolError> {
        let (book, reader) = console.statuses().await?;
        let (healths, due) = (HashMap::new(), Instant::now());
        let book = SharedBook::new(book);
        let mut watch = Self { console, book, reader, after_ms, healths, due, broken: false };
        watch.healths = watch.judged();
        watch.due += watch.left();
        Ok(watch)
    }

    /// Watches on with another console of the same fleet, whose folder was read again.
    ///
    /// # Errors
    /// As [`Console::statuses`].
    pub async fn again(&self, console: Arc<Console>) -> Result<Self, ToolError> {
        let mut watch = Self::start(console, self.after_ms).await?;
        for (name, health) in &mut watch.healths {
            if let Some(was) = self.healths.get(name) {
                *health = *was;
            }
        }
        // Who became silent meanwhile is told.
        watch.due = Instant::now();
        Ok(watch)
    }

    /// The devices that were heard once, and are silent.
    pub fn silent_now(&self) -> Vec<String> {
        let silence = self.silence();
        let book = self.book.lock();
        let rows = book.devices().map(|(device, status)| DeviceRow { device, status, silence });
        let silent = rows.filter(|row| row.status.is_some() && row.health() == DeviceHealth::Silent);
        silent.map(|row| row.device.name.clone()).collect()
    }

    /// The measure of silence, now.
    pub fn silence(&self) -> Silence {
        Silence { now_ms: self.console.wall.now_ms(), after_ms: self.after_ms }
    }

    /// The table.
    pub fn book(&self) -> &SharedBook {
        &self.book
    }

    fn judged<T: FromIterator<(String, DeviceHealth)>>(&self) -> T {
        let silence = self.silence();
        let row = move |(device, status)| DeviceRow { device, status, silence };
        self.book.lock().devices().map(row).map(|row| (row.device.name.clone(), row.health())).collect()
    }

    /// Waits until something changed.
    pub async fn next(&mut self) -> Vec<FleetChange> {
        loop {
            let changes = tokio::select! {
                message = self.reader.next() => match message {
                    Ok(message) => {
                        self.broken = false;
                        self.take(&message.subject, &message.payload, message.heard_ms)
                    }
                    // The stream may be gone for a moment: the broker is restarted.
                    Err(error) => self.outage(error).await,
                },
                () = tokio::time::sleep_until(self.due) => self.silent(),
            };
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    /// Says once that the broker does not deliver, and waits before it is asked again.
    async fn outage(&mut self, error: ToolError) -> Vec<FleetChange> {
        if !std::mem::replace(&mut self.broken, true) {
            return vec![FleetChange {
                name: "the broker".into(),
                what: error.into_message(),
                kind: ChangeKind::Broker,
            }];
        }
        tokio::time::sleep(AGAIN).await;
        Vec::new()
    }

    fn take(&mut self, subject: &str, payload: &[u8], heard_ms: i64) -> Vec<FleetChange> {
        let name = self.console.subjects.sender(subject).unwrap_or_default();
        let mut book = self.book.lock();
        let before = book.device(name).and_then(|(_, status)| status).map(Seen::of);
        match book.take(subject, payload, heard_ms) {
            Taken::Ignored => Vec::new(),
            Taken::Refused(name) => {
                let refused = book.refused().get(&name);
                let what = refused.map_or_else(String::new, |refused| match &refused.by {
                    Some(by) => format!("a status was refused, which {by} signed: {}", refused.why),
                    None => format!("a status was refused: {}", refused.why),
                });
                vec![FleetChange { name, what, kind: ChangeKind::Refused }]
            }
            Taken::Newer(name) => {
                drop(book);
                self.changed(name, before)
            }
            Taken::Clone(name, news) => {
                let clone =
                    book.device(&name).and_then(|(_, status)| status?.clone_seen.as_ref()).map(CloneSeen::sentence);
                drop(book);
                let mut changes = self.changed(name.clone(), before);
                let told = clone.filter(|_| news);
                changes.extend(told.map(|what| FleetChange { name, what, kind: ChangeKind::Clone }));
                changes
            }
        }
    }

    fn changed(&mut self, name: String, before: Option<Seen>) -> Vec<FleetChange> {
        let silence = self.silence();
        let book = self.book.lock();
        let Some((device, Some(status))) = book.device(&name) else { return Vec::new() };
        let row = DeviceRow { device, status: Some(status), silence };
        let health = row.health();
        let due = row.left();
        let mut said =
            before.map_or_else(|| vec!["its first status".into()], |before| before.against(&Seen::of(status)));
        if let Some(was) = self.healths.insert(name.clone(), health).filter(|was| *was != health) {
            said.push(format!("{}, was {}", health.word(), was.word()));
        }
        if let Some(left) = due {
            self.due = self.due.min(Instant::now() + left);
        }
        if said.is_empty() {
            return Vec::new();
        }
        vec![FleetChange { name, what: said.join("; "), kind: ChangeKind::Status }]
    }

    /// Time until the next device may become silent.
    fn left(&self) -> Duration {
        let silence = self.silence();
        let book = self.book.lock();
        let rows = book.devices().map(|(device, status)| DeviceRow { device, status, silence });
        let otherwise = Duration::from_millis(self.after_ms.max(0).unsigned_abs());
        rows.filter_map(|row| row.left()).min().unwrap_or(otherwise)
    }

    /// Devices that became silent.
    fn silent(&mut self) -> Vec<FleetChange> {
        self.due = Instant::now() + self.left();
        let now: BTreeMap<String, DeviceHealth> = self.judged();
        let mut changes = Vec::new();
        for (name, health) in now {
            let was = self.healths.insert(name.clone(), health);
            if health == DeviceHealth::Silent && was.is_some_and(|was| was != health) {
                let minutes = self.after_ms / 60_000;
                changes.push(FleetChange { name, what: format!("silent for {minutes} min"), kind: ChangeKind::Silent });
            }
        }
        changes
    }
}

/// What of a status is worth a sentence when it changes.
struct Seen {
    version: String,
    attempt: Option<String>,
    halted: bool,
    problems: String,
    asks: usize,
}

impl Seen {
    fn of(status: &AcceptedStatus) -> Self {
        let document = &status.document;
        let attempt = document.attempt.as_ref().map(|attempt| {
            let reason = if attempt.reason.is_empty() { String::new() } else { format!(" ({})", attempt.reason) };
            format!("{} {}{reason}", attempt.version, attempt.phase.replace('_', " "))
        });
        Self {
            version: document.version.clone(),
            attempt,
            halted: document.halted,
            problems: document.problems.join("; "),
            asks: document.asks,
        }
    }

    fn against(&self, now: &Self) -> Vec<String> {
        let mut said = Vec::new();
        if self.version != now.version {
            said.push(format!("version {}, was {}", now.version, self.version));
        }
        if let Some(attempt) = now.attempt.as_ref().filter(|_| self.attempt != now.attempt) {
            said.push(format!("update to {attempt}"));
        }
        if self.halted != now.halted {
            said.push(if now.halted { "halted" } else { "no longer halted" }.into());
        }
        if self.problems != now.problems {
            said.push(if now.problems.is_empty() { "no problem any more".into() } else { now.problems.clone() });
        }
        if self.asks < now.asks {
            said.push(format!("{} requests wait for an approval", now.asks));
        }
        said
    }
}
