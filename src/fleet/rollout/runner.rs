//! A controller: it holds the record or waits for it, judges, writes the decision down, and brings the channel to the record's
//! step. Each of these may be its last act: whoever follows finds the record, and does the rest.
//!
//! A pause needs neither the lease nor the log: every controller publishes one that the record has. What goes on needs both.

use super::{DecisionLog, IndexPlace, RecordStore, SignedSteps, changed, holder::is_held};
use base::error::{ErrorCode, ToolError};
use fleet_protocol::rollout::{
    Decision, JudgeTime, Judgement, LeaseMove, LeaseWatch, RolloutDevice, RolloutMemory, RolloutPhase, RolloutRecord,
    judge, record::Decider, steps::Step,
};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// After so many milliseconds the holder looks whether the channel still has its step.
const LOOK_MS: u64 = 60_000;
/// The wait before what somebody else holds is tried again: usually it is held for as long as a small file is written.
const BUSY: Duration = Duration::from_millis(50);
/// For how long it is tried before the holder is told.
const SHORTLY: Duration = Duration::from_secs(1);
/// For how long a person's order tries to publish: more than the time after which a place that is held is passed, and less than a
/// lease.
const ORDER: Duration = Duration::from_secs(45);
/// How often an order changes the record anew, while controllers change it as well.
const ORDER_TRIES: usize = 10;

/// The newest verified status of each registered device.
pub trait DeviceStatuses {
    /// All devices that are registered and not revoked.
    fn devices(&self) -> Vec<RolloutDevice>;

    /// Since when they arrive without a break, in milliseconds since 1970.
    fn listening_since_ms(&self) -> i64;
}

/// The two clocks of a controller.
#[derive(Clone, Copy, Debug)]
pub struct RolloutClock {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Milliseconds that never go back.
    pub monotonic_ms: u64,
}

/// What came of one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// It acts, or did; look again soon.
    Acting,
    /// Another controller acts; it is followed after so many milliseconds without a sign.
    Following { ms: u64 },
    /// Nothing follows: the rollout is over.
    Over,
}

/// What a person's order tells while it is at work.
#[derive(Debug)]
pub enum OrderNews<'a> {
    /// The record has the decision: from now on every controller publishes it.
    Recorded(&'a Decision),
    /// It is not published yet: why.
    Waits(&'a ToolError),
    /// It is published, and the log has not got it yet: why. The next controller writes it down.
    NotLogged(&'a ToolError),
}

/// A controller of one rollout.
pub struct Controller<S, P, D> {
    pub name: String,
    pub steps: SignedSteps,
    pub store: S,
    pub place: P,
    pub statuses: D,
    pub log: DecisionLog,
    watch: LeaseWatch,
    /// Decisions that it made or saw, and that nobody took yet.
    news: Vec<Decision>,
    /// The step that the channel had, and when.
    published: Option<(u32, u64)>,
}

impl<S: RecordStore, P: IndexPlace, D: DeviceStatuses> Controller<S, P, D> {
    pub fn new(name: String, steps: SignedSteps, store: S, place: P, statuses: D, log: DecisionLog) -> Self {
        Self { name, steps, store, place, statuses, log, watch: LeaseWatch::default(), news: vec![], published: None }
    }

    /// The decisions that it made or saw since this was called.
    pub fn news(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.news)
    }

    /// Writes a decision down. One that cannot be written now is kept, and written first the next time.
    async fn note(&mut self, decision: &Decision) -> Result<(), ToolError> {
        if self.log.add(decision) {
            self.news.push(decision.clone());
        }
        let began = Instant::now();
        loop {
            match self.log.write() {
                Err(error) if is_held(&error) && began.elapsed() < SHORTLY => sleep(BUSY).await,
                Err(error) if is_held(&error) => return Err(error.with_code(ErrorCode::Unavailable)),
                done => return done,
            }
        }
    }

    /// Begins the rollout, unless it began already.
    ///
    /// # Errors
    /// `failed_precondition` while another rollout of this channel is not over, or when the channel's index is not the one after
    /// which the stages were signed; those of the store and of the place.
    pub async fn start(&mut self, clock: RolloutClock) -> Result<(), ToolError> {
        let found = self.store.get().await?;
        let over = match &found {
            Some((_, record)) if record.plan == self.steps.hash => return Ok(()),
            Some((_, record)) if !record.phase.is_over() => return Err(other(record)),
            Some((revision, _)) => *revision,
            None => 0,
        };
        if self.steps.position(&self.place.present().await?) != Some(0) {
            return Err(ToolError::precondition(
                "the channel's index is not the one after which the stages were signed",
            )
            .hint("sign the plan again, into a new folder"));
        }
        let by = Decider { name: &self.name, now_ms: clock.now_ms };
        let silent_ms = i64::from(self.steps.plan.silent_minutes) * 60_000;
        let devices = self.statuses.devices();
        let memory = RolloutMemory::at_start(&devices, &self.steps.manifest, clock.now_ms, silent_ms);
        let record = RolloutRecord::start(&self.steps.plan, &self.steps.hash, memory, by);
        self.store.put(over, &record).await?;
        self.note(&record.last).await
    }

    /// One look at everything. Does at most one step.
    ///
    /// # Errors
    /// What was not possible; the next look tries it again.
    pub async fn tick(&mut self, clock: RolloutClock) -> Result<Tick, ToolError> {
        match self.looked(clock).await {
            // Somebody else changed the record or the channel: the next look shows what it is now.
            Err(error) if error.code == ErrorCode::Conflict => {
                self.published = None;
                Ok(Tick::Acting)
            }
            done => done,
        }
    }

    async fn looked(&mut self, clock: RolloutClock) -> Result<Tick, ToolError> {
        let (revision, record) = self.record().await?;
        let noted = self.note(&record.last).await;
        let me = self.name.clone();
        let by = Decider { name: &me, now_ms: clock.now_ms };
        // A pause is everybody's business, whatever happened to the one that holds the record.
        let paused = match is_pause(&record) {
            true => Some(self.publish(record.step(), clock).await),
            false => None,
        };
        if record.phase.is_over() {
            // A channel that went on without us is not.
            match paused {
                Some(published) => published.map(drop)?,
                None => drop(self.publish(record.step(), clock).await?),
            }
            return noted.map(|()| Tick::Over);
        }
        match self.watch.look(revision, record.holder.as_deref(), &me, clock.monotonic_ms) {
            LeaseMove::Follow { ms } => {
                paused.transpose()?;
                return Ok(Tick::Following { ms });
            }
            LeaseMove::Take => {
                let taken = record.taken(by);
                self.store.put(revision, &taken).await?;
                self.published = None;
                return self.note(&taken.last).await.map(|()| Tick::Acting);
            }
            LeaseMove::Renew => {
                self.store.put(revision, &record).await?;
                return Ok(Tick::Acting);
            }
            LeaseMove::Act => {}
        }
        let published = match paused {
            Some(published) => published?,
            // A stage goes out only once the log has it. A stop waits for no log.
            None if noted.is_ok() => self.publish(record.step(), clock).await?,
            None => true,
        };
        if !published {
            let stopped = record.stopped("the channel has an index that is not of this rollout".into(), by);
            return self.decide(revision, stopped, clock).await;
        }
        let judgement = self.judged(&record, clock);
        match record.judged(judgement, by) {
            Some(next) if noted.is_ok() || is_pause(&next) => self.decide(revision, next, clock).await,
            _ => noted.map(|()| Tick::Acting),
        }
    }

    /// How the record's stage is judged now.
    pub fn judged(&self, record: &RolloutRecord, clock: RolloutClock) -> Judgement {
        let (plan, manifest) = (&self.steps.plan, &self.steps.manifest);
        let time = JudgeTime { now_ms: clock.now_ms, listening_since_ms: self.statuses.listening_since_ms() };
        judge(plan, manifest, record.stage, &self.statuses.devices(), time, &record.memory)
    }

    /// Changes the record, writes the decision down, and publishes what it says; a pause is published first.
    async fn decide(&mut self, revision: u64, next: RolloutRecord, clock: RolloutClock) -> Result<Tick, ToolError> {
        self.store.put(revision, &next).await?;
        if is_pause(&next) {
            let published = self.publish(next.step(), clock).await;
            self.note(&next.last).await?;
            published?;
        } else {
            self.note(&next.last).await?;
            self.publish(next.step(), clock).await?;
        }
        Ok(if next.phase.is_over() { Tick::Over } else { Tick::Acting })
    }

    /// A person's decision: changes the record whoever holds it, and publishes what it says. The record comes first; neither the
    /// log nor the place is waited for without a bound, and `told` hears who holds them.
    ///
    /// # Errors
    /// Those of `change`; `conflict` when controllers changed the record at the same time again and again; `failed_precondition`
    /// when the channel has another index by now; `unavailable` when it was recorded and cannot be published now.
    pub async fn order(
        &mut self,
        clock: RolloutClock,
        change: impl Fn(RolloutRecord, Decider<'_>) -> Result<RolloutRecord, ToolError>,
        mut told: impl FnMut(OrderNews<'_>),
    ) -> Result<RolloutRecord, ToolError> {
        let mut tries = ORDER_TRIES;
        let (before, next) = loop {
            let (revision, record) = self.record().await?;
            let next = match change(record.clone(), Decider { name: &self.name, now_ms: clock.now_ms }) {
                Ok(next) => next,
                // Who asks again for a pause that was interrupted before it was published.
                Err(refusal) if is_pause(&record) => {
                    self.brought(&record, clock, &mut told).await?;
                    return Err(refusal);
                }
                Err(refusal) => return Err(refusal),
            };
            match self.store.put(revision, &next).await {
                Ok(_) => break (record, next),
                Err(error) if error.code == ErrorCode::Conflict && tries > 0 => tries -= 1,
                Err(error) => return Err(error),
            }
        };
        told(OrderNews::Recorded(&next.last));
        if self.note(&before.last).await.is_ok() {
            // What fails is tried again below.
            let _ = self.note(&next.last).await;
        }
        self.brought(&next, clock, &mut told).await?;
        if let Err(error) = self.note(&next.last).await {
            told(OrderNews::NotLogged(&error));
        }
        Ok(next)
    }

    /// Brings the channel to the step of `record`, for [`ORDER`] at most.
    async fn brought(
        &mut self,
        record: &RolloutRecord,
        clock: RolloutClock,
        told: &mut impl FnMut(OrderNews<'_>),
    ) -> Result<(), ToolError> {
        let began = Instant::now();
        let mut waits = false;
        loop {
            let error = match self.publish(record.step(), clock).await {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(ToolError::precondition("the channel has an index that is not of this rollout").hint(
                        "the rollout's record was changed, the channel was not: look at `raspi-mcp channel show`",
                    ));
                }
                Err(error) => error,
            };
            let passes = matches!(error.code, ErrorCode::Conflict | ErrorCode::Unavailable | ErrorCode::Timeout);
            if !passes || began.elapsed() >= ORDER {
                let message = format!("it is recorded, and not published: {}", error.message);
                let hint = "a controller publishes it as soon as it can: `raspi-mcp fleet rollout start`";
                return Err(error.with_message(message).hint(hint));
            }
            if !std::mem::replace(&mut waits, true) {
                told(OrderNews::Waits(&error));
            }
            sleep(BUSY).await;
        }
    }

    /// Gives the record up, so that another controller need not wait.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn release(&mut self) -> Result<(), ToolError> {
        let (revision, mut record) = self.record().await?;
        if record.holder.as_deref() != Some(&self.name) {
            return Ok(());
        }
        record.holder = None;
        self.store.put(revision, &record).await.map(drop)
    }

    /// The record of this rollout, with its revision.
    ///
    /// # Errors
    /// `not_found` before it began; `failed_precondition` when there is another one.
    pub async fn record(&self) -> Result<(u64, RolloutRecord), ToolError> {
        match self.store.get().await? {
            Some((revision, record)) if record.plan == self.steps.hash => Ok((revision, record)),
            Some((_, record)) => Err(other(&record)),
            None => {
                Err(ToolError::not_found("this rollout has not begun")
                    .hint("`raspi-mcp fleet rollout start` begins it"))
            }
        }
    }

    /// Brings the channel to `step`; `false` if its index is none of this rollout, or a later one.
    async fn publish(&mut self, step: u32, clock: RolloutClock) -> Result<bool, ToolError> {
        let now = clock.monotonic_ms;
        if self.published.is_some_and(|(last, at)| last == step && now.saturating_sub(at) < LOOK_MS) {
            return Ok(true);
        }
        let present = self.place.present().await?;
        match self.steps.position(&present) {
            Some(at) if at == step => {}
            Some(at) if at < step => {
                // Who slept since it read the record: what goes on is only published while the record still says so.
                if !Step::of(step).is_some_and(|step| step.paused) && self.record().await?.1.step() != step {
                    return Err(changed());
                }
                let bytes = self.steps.bytes(step).ok_or_else(|| ToolError::internal("a step beyond the last"))?;
                replaced(&self.place, &present, bytes).await?;
            }
            Some(_) => return Ok(false),
            // A page of a login, say: no index at all.
            None if !super::signed::is_index(&present) => {
                return Err(ToolError::unavailable("what is published as the channel's index is none")
                    .hint("look at the address in the plan"));
            }
            None => return Ok(false),
        }
        self.published = Some((step, now));
        Ok(true)
    }
}

/// Replaces the index. A place that is held for longer than a moment is `unavailable`: its holder is told.
async fn replaced(place: &impl IndexPlace, present: &[u8], with: &[u8]) -> Result<(), ToolError> {
    let began = Instant::now();
    loop {
        match place.replace(present, with).await {
            Err(error) if is_held(&error) && began.elapsed() < SHORTLY => sleep(BUSY).await,
            Err(error) if is_held(&error) => return Err(error.with_code(ErrorCode::Unavailable)),
            done => return done,
        }
    }
}

/// Whether the record demands that devices begin nothing.
fn is_pause(record: &RolloutRecord) -> bool {
    matches!(record.phase, RolloutPhase::Paused | RolloutPhase::Stopped | RolloutPhase::Aborted)
}

fn other(record: &RolloutRecord) -> ToolError {
    ToolError::precondition(format!("another rollout of this channel was started: {}", record.plan))
        .hint("`raspi-mcp fleet rollout abort` ends it; only then another one begins")
}
