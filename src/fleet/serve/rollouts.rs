//! Rollouts that this server controls: each on a thread of its own, as `raspi-mcp fleet rollout start` would.

use super::plans::{Plans, SignedPlan};
use crate::{
    fleet::{
        console::{Console, FleetFolder},
        rollout::{
            ChannelPlace, Controller, RecordStore,
            live::{self, BrokerStore, LiveStatuses, RolloutNews, StatusFeed},
        },
    },
    fleet_port::StartedRollout,
};
use base::{clock::Wall, error::ToolError};
use fleet_protocol::rollout::RolloutRecord;
use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The hashes of the plans whose controllers run here.
type Running = Arc<Mutex<BTreeSet<String>>>;

/// What the caller of `fleet.apply_rollout` waits for.
type Answer = Result<StartedRollout, ToolError>;

/// The controllers of this server.
pub struct Rollouts {
    pub plans: Plans,
    dir: PathBuf,
    tasks: TaskTracker,
    stop: CancellationToken,
    running: Running,
}

impl Rollouts {
    /// For the fleet in `dir`. Controllers run on `tasks`, and give their rollout up at `stop`.
    pub fn new(dir: PathBuf, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self { plans: Plans::of(&dir), dir, tasks, stop, running: Running::default() }
    }

    /// Begins the rollout with this hash, or finds that it has begun.
    ///
    /// # Errors
    /// `not_found` without such a plan; `failed_precondition` when its stages expired, or while another rollout of the channel is
    /// not over; `unavailable` when broker or channel do not answer.
    pub async fn apply(&self, console: &Console, hash: &str) -> Answer {
        let plan = self.plans.all().into_iter().find(|plan| plan.steps.hash == hash).ok_or_else(|| {
            ToolError::not_found("no signed plan of the owner has this hash")
                .hint("fleet.plan_rollout shows it; a plan, release or channel that has changed has another one")
        })?;
        plan.check(&console.wall)?;
        self.control(console, plan).await
    }

    /// Goes on with what has begun and is not over: this server may have been restarted.
    pub async fn go_on(&self, console: &Console) {
        for plan in self.plans.all() {
            match BrokerStore::new(console, &plan.steps).get().await {
                Ok(Some((_, record))) if record.plan == plan.steps.hash && !record.phase.is_over() => {}
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(target: "fleet", error = error.advice(), "a rollout cannot be looked up");
                    continue;
                }
            }
            let hash = plan.steps.hash.clone();
            match self.control(console, plan).await {
                Ok(_) => tracing::info!(target: "fleet", plan = hash, "goes on with this rollout"),
                Err(error) => tracing::error!(target: "fleet", plan = hash, error = error.advice(), "does not go on"),
            }
        }
    }

    async fn control(&self, console: &Console, plan: SignedPlan) -> Answer {
        let hash = plan.steps.hash.clone();
        if !locked(&self.running).insert(hash.clone()) {
            let record = BrokerStore::new(console, &plan.steps).get().await?;
            let record = record.ok_or_else(|| ToolError::unavailable("the rollout is just being started"))?;
            return Ok(started(&plan, &record.1, true));
        }
        let (told, answer) = oneshot::channel();
        let (dir, stop, running) = (self.dir.clone(), self.stop.clone(), Arc::clone(&self.running));
        self.tasks.spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(run(dir, plan, stop, told)),
                Err(error) => drop(told.send(Err(ToolError::internal(format!("no thread for a controller: {error}"))))),
            }
            locked(&running).remove(&hash);
        });
        answer.await.map_err(|_| ToolError::internal("the controller ended at once"))?
    }
}

fn locked(running: &Running) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells whether it has begun, and then runs until it is over or `stop`.
async fn run(dir: PathBuf, plan: SignedPlan, stop: CancellationToken, told: oneshot::Sender<Answer>) {
    let hash = plan.steps.hash.clone();
    let (mut controller, mut feed, answer) = match begin(dir, plan).await {
        Ok(begun) => begun,
        Err(error) => return drop(told.send(Err(error))),
    };
    // Who asked may be gone; the rollout has begun.
    let _ = told.send(Ok(answer));
    let news = |news: RolloutNews<'_>| match news {
        RolloutNews::Decided(decision) => {
            tracing::info!(target: "fleet", plan = hash, stage = decision.stage, kind = ?decision.kind, "{}", decision.why);
        }
        RolloutNews::Follows => {
            tracing::info!(target: "fleet", plan = hash, "another controller acts; this one follows")
        }
        RolloutNews::Trouble(error) => tracing::warn!(target: "fleet", plan = hash, "{}", error.advice()),
    };
    if let Err(error) = live::run(&mut controller, &mut feed, stop.cancelled(), news).await {
        tracing::error!(target: "fleet", plan = hash, error = error.advice(), "the controller of a rollout ended");
    }
}

type Begun = (Controller<BrokerStore, ChannelPlace, LiveStatuses>, StatusFeed, StartedRollout);

async fn begin(dir: PathBuf, plan: SignedPlan) -> Result<Begun, ToolError> {
    let console = Console::connect(FleetFolder::read(&dir)?, Wall::system()).await?;
    let feed = StatusFeed::begin(&console).await?;
    let already = BrokerStore::new(&console, &plan.steps).get().await?;
    let already = already.is_some_and(|(_, record)| record.plan == plan.steps.hash);
    let steps = plan.steps.clone();
    let mut controller = live::controller(&console, &plan.file, &plan.signed(), steps, feed.statuses())?;
    controller.start(live::clock(&console.wall, Instant::now())).await?;
    let record = controller.record().await?.1;
    Ok((controller, feed, started(&plan, &record, already)))
}

fn started(plan: &SignedPlan, record: &RolloutRecord, already: bool) -> StartedRollout {
    StartedRollout {
        plan_hash: plan.steps.hash.clone(),
        already,
        stage: record.stage + 1,
        stages: plan.steps.plan.stages.len(),
    }
}
