//! Sampling jobs: the machine's metrics, sampled at an interval and kept for the job's retention time
//! (docs/contract/metrics.md).
//!
//! A job outlives the server: it is in the store and continues at the next start. Its samples wait in memory for up to
//! [`scheduler::FLUSH_EVERY`] and are written to the card together; a power cut loses only those. Nothing runs while
//! there is no job. Times are those of the machine's clock: setting it back repeats times, a suspended machine leaves a
//! gap, and nothing is interpolated.

pub mod block;
mod default;
mod history;
mod job;
pub mod look;
pub mod metric;
mod pages;
pub mod power;
mod scan;
mod scheduler;
mod store;
mod threshold;
mod upkeep;

pub use default::DefaultJob;
pub use history::{BucketedRange, History, MOST_CELLS, MetricBucket, Series};
pub use job::{JobSummary, NewJob};
pub use pages::SamplePage;
pub use scheduler::FLUSH_EVERY;
pub use threshold::{Threshold, ThresholdState};

use crate::store::Store;
use base::{clock::Wall, error::ToolError};
use hw::machine::Machine;
use job::Job;
use look::Looker;
use metric::MetricSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{BlockTotals, StoredJob};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Most running jobs of callers. Each takes a few KB of memory and, at five seconds, writes six MB to the card a day.
pub const MOST_RUNNING: usize = 8;
/// Most jobs of callers, including those that have ended and still have samples.
pub const MOST_JOBS: usize = 32;

/// The sampling jobs of this server. Cheap to clone.
#[derive(Clone)]
pub struct Sampling(Arc<Inner>);

struct Inner {
    store: Store,
    wall: Wall,
    /// Most bytes of all samples together.
    max_bytes: u64,
    state: Mutex<State>,
    /// Serializes changes of the store.
    turn: tokio::sync::Mutex<()>,
    looker: tokio::sync::Mutex<Looker>,
    /// Notified when jobs are added or removed.
    changed: Notify,
    /// Notified when samples were taken.
    taken: Notify,
    stop: CancellationToken,
    power: power::PowerHistory,
    /// The newest sample, for those who listen.
    newest: watch::Sender<Option<metric::Sample>>,
}

#[derive(Default)]
struct State {
    /// The jobs of the store were loaded into `jobs`.
    loaded: bool,
    jobs: Vec<Job>,
    /// The scheduler's task is running.
    awake: bool,
    /// Samples are taken at whole intervals from here.
    epoch: Option<Instant>,
    pruned: Option<Instant>,
    /// Why samples cannot be stored, until they can.
    fault: Option<String>,
}

impl State {
    /// Jobs that are due by `now`.
    fn due(&self, now: Instant) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(move |job| job.is_running() && job.next <= now)
    }
    fn numbered(&mut self, number: u32) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.kept.number == number)
    }
    fn find(&mut self, id: &str) -> Result<&mut Job, ToolError> {
        let near = contract::config::nearest(id, self.jobs.iter().map(|job| job.kept.id.as_str())).map(str::to_owned);
        self.jobs.iter_mut().find(|job| job.kept.id == id).ok_or_else(|| unknown(id, near))
    }
}

fn unknown(id: &str, near: Option<String>) -> ToolError {
    let error = ToolError::not_found(format!("there is no sampling job '{id}'")).with("parameter", "job_id");
    match near {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error.hint("metrics.list_sampling_jobs shows those there are"),
    }
}

impl Sampling {
    /// Sampling jobs in `store`; samples may take `max_bytes` there.
    pub fn new(store: Store, max_bytes: u64, wall: Wall) -> Self {
        Self(Arc::new(Inner {
            power: power::PowerHistory::new(store.clone()),
            store,
            wall,
            max_bytes,
            state: Mutex::default(),
            turn: Default::default(),
            looker: Default::default(),
            changed: Notify::new(),
            taken: Notify::new(),
            stop: CancellationToken::new(),
            newest: watch::Sender::new(None),
        }))
    }

    /// Waits until samples were taken since the last return. For the one notifier of subscriptions.
    pub async fn taken(&self) {
        self.0.taken.notified().await;
    }

    /// The current time by its clock, in milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        self.0.wall.now_ms()
    }

    /// Resumes the jobs that were running when the last server stopped, and applies `default` to the default job. Does
    /// not wait for the store.
    pub fn resume(&self, machine: &Arc<Machine>, default: DefaultJob) {
        let (sampling, machine) = (self.clone(), Arc::clone(machine));
        base::task::spawn(async move {
            match sampling.settle_default(default).await {
                Ok(()) => sampling.wake(&machine),
                Err(error) => {
                    tracing::warn!(%error, "sampling jobs could not be read; they rest until one is begun or the server starts again")
                }
            }
        });
    }

    /// Begins a job or, with `dry_run`, returns the job that would begin.
    ///
    /// # Errors
    /// `conflict` if there is a job with that name, `resource_exhausted` if there are too many, and the store's.
    pub async fn start(&self, machine: &Arc<Machine>, request: NewJob, dry_run: bool) -> Result<JobSummary, ToolError> {
        self.tidy().await?;
        let _turn = self.0.turn.lock().await;
        let kept = self.admit(request)?;
        let job = Job::new(kept.clone(), BlockTotals::default());
        let status = job.status(None);
        if dry_run {
            return Ok(status);
        }
        self.0.store.run(move |connection| store::begin(connection, &kept)).await?;
        self.state().jobs.push(job);
        self.wake(machine);
        Ok(status)
    }

    /// Makes the job of a request, if one more is allowed.
    fn admit(&self, request: NewJob) -> Result<StoredJob, ToolError> {
        let state = self.state();
        let taken = |id: &str| state.jobs.iter().any(|job| job.kept.id == id);
        let number = state.jobs.iter().map(|job| job.kept.number).max().map_or(1, |most| most + 1);
        let id = match request.id {
            Some(id) if taken(&id) => {
                return Err(ToolError::new(
                    base::error::ErrorCode::Conflict,
                    format!("there is a sampling job '{id}' already"),
                )
                .with("parameter", "job_id")
                .hint("take another name, or end that job with metrics.stop_sampling_job and discard_samples"));
            }
            Some(id) => id,
            None => (number..).map(|n| format!("job-{n}")).find(|id| !taken(id)).unwrap_or_default(),
        };
        let theirs = || state.jobs.iter().filter(|job| job.kept.number != default::NUMBER);
        let running = theirs().filter(|job| job.is_running()).count();
        for (count, most, which) in [(running, MOST_RUNNING, "running"), (theirs().count(), MOST_JOBS, "kept")] {
            if count >= most {
                return Err(ToolError::exhausted(format!("{most} sampling jobs are {which} already"))
                    .with("limit", most)
                    .hint("end one with metrics.stop_sampling_job; discard_samples forgets it at once"));
            }
        }
        Ok(StoredJob {
            number,
            id,
            interval_seconds: request.interval_seconds,
            retention_hours: request.retention_hours,
            metrics: (metric::COUNT..).take(request.sensors.len()).fold(request.metrics, MetricSet::with),
            sensors: request.sensors.into(),
            threshold: request.threshold,
            created_ms: self.now_ms(),
            stopped_ms: None,
        })
    }

    /// Ends a job. Its samples stay until they have aged out, or are discarded with it. Returns its state, and whether
    /// that changed anything.
    ///
    /// # Errors
    /// `not_found`, `failed_precondition` for the default job while it runs, and the store's if samples are to be
    /// discarded.
    pub async fn end(&self, id: &str, discard: bool, dry_run: bool) -> Result<(JobSummary, bool), ToolError> {
        self.tidy().await?;
        let _turn = self.0.turn.lock().await;
        let (number, was_running) = {
            let mut state = self.state();
            let job = state.find(id)?;
            if job.kept.number == default::NUMBER && job.is_running() {
                return Err(default::not_yours(id));
            }
            (job.kept.number, job.is_running())
        };
        let changes = was_running || discard;
        let now_ms = self.now_ms();
        if !dry_run && discard {
            self.0.store.run(move |connection| store::forget(connection, number)).await?;
            let mut state = self.state();
            let mut status = state.find(id)?.status(None);
            state.jobs.retain(|job| job.kept.number != number);
            status.stopped_ms.get_or_insert(now_ms);
            (status.samples, status.bytes, status.first_ms, status.last_ms) = (0, 0, None, None);
            self.0.changed.notify_one();
            return Ok((status, true));
        }
        if !dry_run && was_running {
            self.flush_locked().await;
            // End the job even if the card cannot be written; the status reports the fault.
            let ended = self.0.store.run(move |connection| store::end(connection, number, now_ms)).await;
            if let Err(error) = ended {
                self.state().fault = Some(error.advice());
            }
            self.state().find(id)?.kept.stopped_ms = Some(now_ms);
            self.0.changed.notify_one();
        }
        let mut state = self.state();
        let fault = state.fault.clone();
        let mut status = state.find(id)?.status(fault);
        status.stopped_ms.get_or_insert(now_ms);
        Ok((status, changes))
    }

    /// Every job, in the order they were started.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<Vec<JobSummary>, ToolError> {
        self.tidy().await?;
        let state = self.state();
        Ok(state.jobs.iter().map(|job| job.status(state.fault.clone())).collect())
    }

    /// The thresholds of the jobs that run.
    pub fn thresholds(&self) -> Vec<ThresholdState> {
        self.state().jobs.iter().filter(|job| job.is_running()).filter_map(Job::threshold).collect()
    }

    /// Why samples are not being stored, if so.
    pub fn fault(&self) -> Option<String> {
        self.state().fault.clone()
    }

    /// Receives each later sample, with the metrics of the jobs that were due. No sample is taken for it.
    pub fn samples(&self) -> watch::Receiver<Option<metric::Sample>> {
        self.0.newest.subscribe()
    }

    /// The record of low voltage and throttling.
    pub fn power(&self) -> &power::PowerHistory {
        &self.0.power
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change under this lock is complete before any code can panic.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
