//! A controller of a real fleet: the record in the broker's bucket, the statuses from its stream.

use super::{ChannelPlace, Controller, DecisionLog, DeviceStatuses, RecordStore, RolloutClock, SignedSteps, Tick};
use crate::{
    broker::{Broker, LinkState, stream::StreamReader},
    fleet::console::{Console, StatusBook, book::AcceptedStatus},
};
use base::{
    clock::Wall,
    error::{ErrorCode, ToolError},
    os::Root,
};
use fleet_protocol::{
    rollout::{Decision, HeardAttempt, HeardStatus, RolloutDevice, RolloutRecord},
    subject::rollout_bucket,
};
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};
use tokio::{sync::watch, time::MissedTickBehavior};

/// The log of decisions, beside the signed indexes.
const LOG: &str = "decisions.jsonl";

/// How often a controller looks: statuses may come by the dozen every second, and each look judges all devices.
const LOOK: Duration = Duration::from_secs(5);

/// The record of one plan's rollout in the fleet's bucket, sealed with the secret of its controllers. The broker keeps it and is
/// no authority: it cannot make one. It can lose it or give back an older one; an older one is behind the channel's index, and ends
/// the rollout.
pub struct BrokerStore {
    broker: Broker,
    bucket: String,
    key: String,
    secret: hmac::Key,
}

impl BrokerStore {
    pub fn new(console: &Console, steps: &SignedSteps) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &steps.secret);
        Self {
            broker: console.broker.clone(),
            bucket: rollout_bucket(&console.folder.name),
            key: steps.hash.clone(),
            secret,
        }
    }

    /// The record in a sealed value: 32 bytes, and its JSON.
    fn open(&self, value: &[u8]) -> Result<RolloutRecord, ToolError> {
        let (seal, text) = value.split_at(value.len().min(32));
        if hmac::verify(&self.secret, text, seal).is_err() {
            return Err(ToolError::new(
                ErrorCode::VerificationFailed,
                format!("the record in the bucket {} is of no controller of this rollout", self.bucket),
            )
            .hint(
                "the plan was signed twice: use the folder with which it was started; or somebody changed the record",
            ));
        }
        serde_json::from_slice(text).map_err(|error| {
            ToolError::precondition(format!("the record of the rollout is not understood: {error}"))
                .hint("another version of this program wrote it")
        })
    }
}

impl RecordStore for BrokerStore {
    async fn get(&self) -> Result<Option<(u64, RolloutRecord)>, ToolError> {
        let Some(kept) = self.broker.kept(&self.bucket, &self.key).await? else { return Ok(None) };
        Ok(Some((kept.revision, self.open(&kept.value)?)))
    }

    async fn put(&self, over: u64, record: &RolloutRecord) -> Result<u64, ToolError> {
        let text = serde_json::to_vec(record).map_err(|error| ToolError::internal(error.to_string()))?;
        let value = [hmac::sign(&self.secret, &text).as_ref(), &text].concat();
        self.broker.keep(&self.bucket, &self.key, value, over).await
    }
}

/// The statuses of the console.
#[derive(Clone)]
pub struct LiveStatuses {
    book: Rc<RefCell<StatusBook>>,
    since_ms: Rc<Cell<i64>>,
}

impl LiveStatuses {
    /// As if they had been listened to all along: for a look, not for a controller.
    pub fn assumed(self) -> Self {
        self.since_ms.set(0);
        self
    }

    /// Of a console that only gives an order: it judges nothing.
    pub fn none(console: &Console) -> Self {
        let book = StatusBook::new(&console.folder, BTreeMap::new());
        Self { book: Rc::new(RefCell::new(book)), since_ms: Rc::new(Cell::new(console.wall.now_ms())) }
    }
}

impl DeviceStatuses for LiveStatuses {
    fn devices(&self) -> Vec<RolloutDevice> {
        let book = self.book.borrow();
        let one = |(device, status): (&crate::fleet::console::KnownDevice, Option<&AcceptedStatus>)| RolloutDevice {
            name: device.name.clone(),
            heard: status.map(heard),
        };
        book.devices().map(one).collect()
    }

    fn listening_since_ms(&self) -> i64 {
        self.since_ms.get()
    }
}

fn heard(status: &AcceptedStatus) -> HeardStatus {
    let document = &status.document;
    HeardStatus {
        heard_ms: status.heard_ms,
        time_ms: document.time_ms,
        sequence: document.sequence,
        manifest: document.manifest.clone(),
        // Of the running slot: started and found healthy, not on trial.
        committed: document.state.as_deref() == Some("good"),
        healthy: document.healthy,
        problems: document.problems.clone(),
        ring: document.ring.clone(),
        attempt: document.attempt.as_ref().map(|attempt| HeardAttempt {
            manifest: attempt.manifest.clone(),
            phase: attempt.phase.clone(),
            reason: attempt.reason.clone(),
        }),
    }
}

/// What feeds the statuses while a controller runs.
pub struct StatusFeed {
    statuses: LiveStatuses,
    reader: StreamReader,
    link: watch::Receiver<LinkState>,
    connections: u64,
    wall: Wall,
}

impl StatusFeed {
    /// Reads all that the broker has.
    ///
    /// # Errors
    /// Those of [`Console::statuses`].
    pub async fn begin(console: &Console) -> Result<Self, ToolError> {
        let link = console.broker.state();
        let connections = link.borrow().connections;
        let (book, reader) = console.statuses().await?;
        let since_ms = Rc::new(Cell::new(console.wall.now_ms()));
        let statuses = LiveStatuses { book: Rc::new(RefCell::new(book)), since_ms };
        Ok(Self { statuses, reader, link, connections, wall: console.wall.clone() })
    }

    pub fn statuses(&self) -> LiveStatuses {
        self.statuses.clone()
    }

    /// Takes statuses for ever. A stream that does not deliver, and a lost connection, are a break.
    async fn feed(&mut self) {
        let broke = || self.statuses.since_ms.set(self.wall.now_ms());
        loop {
            // Not interrupted by anything else: the reader may be making its consumer.
            match self.reader.next().await {
                Ok(message) => {
                    self.statuses.book.borrow_mut().take(&message.subject, &message.payload, message.heard_ms);
                }
                Err(error) => {
                    tracing::warn!("statuses do not arrive: {}", error.advice());
                    broke();
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
    }

    /// The breaks of the connection.
    fn breaks(&self) -> LinkBreaks {
        let (statuses, wall) = (self.statuses.clone(), self.wall.clone());
        LinkBreaks { statuses, link: self.link.clone(), connections: self.connections, wall }
    }
}

struct LinkBreaks {
    statuses: LiveStatuses,
    link: watch::Receiver<LinkState>,
    connections: u64,
    wall: Wall,
}

impl LinkBreaks {
    /// Takes note of a lost connection.
    fn look(&mut self) {
        let link = *self.link.borrow();
        if !link.connected || link.connections != self.connections {
            self.connections = link.connections;
            self.statuses.since_ms.set(self.wall.now_ms());
        }
    }
}

/// A controller of the plan in `plan`, whose signed indexes are in the folder `signed`.
///
/// # Errors
/// `invalid_argument` for a channel that cannot be used.
pub fn controller(
    console: &Console,
    plan: &Path,
    signed: &Path,
    steps: SignedSteps,
    statuses: LiveStatuses,
) -> Result<Controller<BrokerStore, ChannelPlace, LiveStatuses>, ToolError> {
    let store = BrokerStore::new(console, &steps);
    let folder = plan.parent().unwrap_or(Path::new("."));
    let place = ChannelPlace::open(&steps.plan.target, &steps.plan.channel, folder)?;
    Ok(Controller::new(name(), steps, store, place, statuses, DecisionLog::new(signed.join(LOG))))
}

/// A name for a controller that no other one has: this machine's, and a random part.
fn name() -> String {
    let host = base::os::host_name::kept(&Root::system()).unwrap_or_else(|| "console".into());
    let mut random = [0; 4];
    // Without random bytes the lease still works between machines of different names.
    let _ = SystemRandom::new().fill(&mut random);
    format!("{host}-{}", base::canonical::hex(&random))
}

/// This moment by both clocks.
pub fn clock(wall: &Wall, began: Instant) -> RolloutClock {
    let monotonic_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    RolloutClock { now_ms: wall.now_ms(), monotonic_ms }
}

/// What a controller says while it runs.
pub enum RolloutNews<'a> {
    Decided(&'a Decision),
    /// Another controller acts.
    Follows,
    /// It was not possible now, and is tried again.
    Trouble(&'a ToolError),
}

/// Runs a controller until the rollout is over, or until `stop`: then another controller may go on at once. Returns whether it is
/// over.
///
/// # Errors
/// What does not become better by waiting.
pub async fn run(
    controller: &mut Controller<BrokerStore, ChannelPlace, LiveStatuses>,
    feed: &mut StatusFeed,
    stop: impl Future<Output = ()>,
    said: impl FnMut(RolloutNews<'_>),
) -> Result<bool, ToolError> {
    let breaks = feed.breaks();
    tokio::select! {
        over = looking(controller, breaks, stop, said) => over,
        () = feed.feed() => Ok(false),
    }
}

async fn looking(
    controller: &mut Controller<BrokerStore, ChannelPlace, LiveStatuses>,
    mut breaks: LinkBreaks,
    stop: impl Future<Output = ()>,
    mut said: impl FnMut(RolloutNews<'_>),
) -> Result<bool, ToolError> {
    let began = Instant::now();
    let mut timer = tokio::time::interval(LOOK);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = std::pin::pin!(stop);
    let (mut trouble, mut follows) = (String::new(), false);
    loop {
        tokio::select! {
            _ = timer.tick() => {}
            () = &mut stop => return controller.release().await.map(|()| false),
        }
        breaks.look();
        let tick = controller.tick(clock(&breaks.wall, began)).await;
        for decision in controller.news() {
            said(RolloutNews::Decided(&decision));
        }
        match tick {
            Ok(Tick::Over) => return Ok(true),
            Ok(tick) => {
                let following = matches!(tick, Tick::Following { .. });
                if following && !follows {
                    said(RolloutNews::Follows);
                }
                (follows, trouble) = (following, String::new());
            }
            Err(error) if matches!(error.code, ErrorCode::Unavailable | ErrorCode::Timeout) => {
                if trouble != error.message {
                    said(RolloutNews::Trouble(&error));
                    trouble.clone_from(&error.message);
                }
            }
            Err(error) => return Err(error),
        }
    }
}
