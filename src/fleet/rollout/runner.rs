//! A controller: it holds the record or waits for it, judges, writes the decision down, and brings the channel to the record's
//! step. Each of these may be its last act: whoever follows finds the record, and does the rest.

use super::{DecisionLog, IndexPlace, RecordStore, SignedSteps};
use base::error::{ErrorCode, ToolError};
use fleet_protocol::rollout::{
    Decision, JudgeTime, Judgement, LeaseMove, LeaseWatch, RolloutDevice, RolloutMemory, RolloutRecord, judge,
    record::Decider,
};
use std::time::Duration;

/// After so many milliseconds the holder looks whether the channel still has its step.
const LOOK_MS: u64 = 60_000;
/// The wait before a channel that somebody else writes is tried again.
const BUSY: Duration = Duration::from_millis(200);

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

    /// Writes a decision down.
    fn note(&mut self, decision: &Decision) -> Result<(), ToolError> {
        if self.log.append(decision)? {
            self.news.push(decision.clone());
        }
        Ok(())
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
        self.note(&record.last)
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
        self.note(&record.last)?;
        let me = self.name.clone();
        let by = Decider { name: &me, now_ms: clock.now_ms };
        if record.phase.is_over() {
            // The pause of a stopped rollout is everybody's business. A channel that went on without us is not.
            return match self.publish(record.step(), clock).await {
                Ok(_) => Ok(Tick::Over),
                Err(error) => Err(error),
            };
        }
        match self.watch.look(revision, record.holder.as_deref(), &me, clock.monotonic_ms) {
            LeaseMove::Follow { ms } => return Ok(Tick::Following { ms }),
            LeaseMove::Take => {
                let taken = record.taken(by);
                self.store.put(revision, &taken).await?;
                self.note(&taken.last)?;
                self.published = None;
                return Ok(Tick::Acting);
            }
            LeaseMove::Renew => {
                self.store.put(revision, &record).await?;
                return Ok(Tick::Acting);
            }
            LeaseMove::Act => {}
        }
        if !self.publish(record.step(), clock).await? {
            let stopped = record.stopped("the channel has an index that is not of this rollout".into(), by);
            return self.decide(revision, stopped, clock).await;
        }
        let judgement = self.judged(&record, clock);
        match record.judged(judgement, by) {
            Some(next) => self.decide(revision, next, clock).await,
            None => Ok(Tick::Acting),
        }
    }

    /// How the record's stage is judged now.
    pub fn judged(&self, record: &RolloutRecord, clock: RolloutClock) -> Judgement {
        let (plan, manifest) = (&self.steps.plan, &self.steps.manifest);
        let time = JudgeTime { now_ms: clock.now_ms, listening_since_ms: self.statuses.listening_since_ms() };
        judge(plan, manifest, record.stage, &self.statuses.devices(), time, &record.memory)
    }

    /// Changes the record, writes the decision down, and publishes what it says.
    async fn decide(&mut self, revision: u64, next: RolloutRecord, clock: RolloutClock) -> Result<Tick, ToolError> {
        self.store.put(revision, &next).await?;
        self.note(&next.last)?;
        self.publish(next.step(), clock).await?;
        Ok(if next.phase.is_over() { Tick::Over } else { Tick::Acting })
    }

    /// A person's decision: changes the record whoever holds it, and publishes what it says.
    ///
    /// # Errors
    /// Those of `change`; `conflict` when a controller decided at the same time; `failed_precondition` when the channel has
    /// another index by now.
    pub async fn order(
        &mut self,
        clock: RolloutClock,
        change: impl FnOnce(RolloutRecord, Decider<'_>) -> Result<RolloutRecord, ToolError>,
    ) -> Result<RolloutRecord, ToolError> {
        let (revision, record) = self.record().await?;
        self.note(&record.last)?;
        let next = change(record, Decider { name: &self.name, now_ms: clock.now_ms })?;
        self.store.put(revision, &next).await?;
        self.note(&next.last)?;
        let mut tries = 5;
        loop {
            match self.publish(next.step(), clock).await {
                Ok(true) => return Ok(next),
                Ok(false) => {
                    return Err(ToolError::precondition("the channel has an index that is not of this rollout").hint(
                        "the rollout's record was changed, the channel was not: look at `raspi-mcp channel show`",
                    ));
                }
                // A controller publishes at this moment, which takes as long as a file is written.
                Err(error) if error.code == ErrorCode::Conflict && tries > 0 => {
                    tries -= 1;
                    tokio::time::sleep(BUSY).await;
                }
                Err(error) => return Err(error),
            }
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
                let bytes = self.steps.bytes(step).ok_or_else(|| ToolError::internal("a step beyond the last"))?;
                self.place.replace(&present, bytes).await?;
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

fn other(record: &RolloutRecord) -> ToolError {
    ToolError::precondition(format!("another rollout of this channel was started: {}", record.plan))
        .hint("`raspi-mcp fleet rollout abort` ends it; only then another one begins")
}
