//! The task that takes samples while there are jobs, and flushes them to the card.
//!
//! It wakes only for the next sample: waiting samples are flushed together with the sample at which the flush is due,
//! or with the last one before. Intervals use CLOCK_MONOTONIC, which cannot be set and stops while the machine is
//! suspended. A missed sample is not made up for.

use super::{
    Sampling,
    block::MOST,
    job::Job,
    look::{self, MOVING},
    metric::{COUNT, MetricSet, Sample},
    store::{self, SampleBlock},
};
use base::os::activity::{ActivityReading, Interval};
use hw::{machine::Machine, sensors::Wanted};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until, timeout};

/// Longest time that samples wait to be flushed: what a power cut may lose.
pub const FLUSH_EVERY: Duration = Duration::from_secs(300);

/// How long a round waits for others that read sensors, and for its own to be read: less than the shortest interval, so
/// that a sensor that hangs costs the other metrics no sample.
const SENSOR_TURN: Duration = Duration::from_secs(1);
const SENSORS_TAKE: Duration = Duration::from_secs(4);

impl Sampling {
    /// Starts the task if there is a job and no task.
    pub(super) fn wake(&self, machine: &Arc<Machine>) {
        let mut state = self.state();
        if state.awake || !state.jobs.iter().any(Job::is_running) {
            drop(state);
            self.0.changed.notify_one();
            return;
        }
        state.awake = true;
        state.epoch = Some(Instant::now());
        let (sampling, machine) = (self.clone(), Arc::clone(machine));
        base::task::spawn(async move { sampling.run(&machine).await });
    }

    async fn run(&self, machine: &Machine) {
        while let Some(next) = self.next_look() {
            tokio::select! {
                biased;
                () = self.0.stop.cancelled() => return,
                () = self.0.changed.notified() => {}
                () = sleep_until(next) => self.round(machine).await,
            }
        }
    }

    /// When the next job is due. `None` ends the task: there is no job.
    fn next_look(&self) -> Option<Instant> {
        let mut state = self.state();
        let next = state.jobs.iter().filter(|job| job.is_running()).map(|job| job.next).min();
        state.awake = next.is_some();
        next
    }

    /// Samples for every job that is due, and flushes if needed.
    pub async fn round(&self, machine: &Machine) {
        let now = Instant::now();
        let (is_due, wanted, moving, sensors) = {
            let state = self.state();
            let mut sensors: Vec<String> = state.due(now).flat_map(|job| job.kept.sensors.iter().cloned()).collect();
            base::sort::sort(&mut sensors);
            sensors.dedup();
            let due: Vec<MetricSet> = state.due(now).map(|job| job.kept.metrics).collect();
            let wanted = due.iter().fold(MetricSet::NONE, |all, metrics| all.and(*metrics));
            (!due.is_empty(), wanted, wanted.has_any(&MOVING), sensors)
        };
        if is_due {
            let fresh = self.first_interval(machine, moving, now).await;
            let mut looker = self.0.looker.lock().await;
            let (sample, word) = looker.look(machine, wanted, self.now_ms()).await;
            drop(looker);
            // If processor time cannot be read, there are no rates.
            let reading = if moving { ActivityReading::take(&machine.root).ok().map(Arc::new) } else { None };
            let measured = measured(machine, sensors).await;
            self.hand_out(now, sample, &measured, reading, fresh);
            if let Some(word) = word {
                self.0.power.seen(word, &machine.root, self.now_ms()).await;
            }
            // After the record of low voltage, which listeners read.
            if self.0.newest.receiver_count() > 0 {
                self.0.newest.send_replace(Some(sample));
            }
        }
        if self.is_time_to_flush() {
            let _turn = self.0.turn.lock().await;
            self.flush_locked().await;
            self.prune_locked().await;
        }
    }

    /// A short interval for jobs without a previous reading: means over a quarter of a second instead of zeros.
    async fn first_interval(&self, machine: &Machine, moving: bool, now: Instant) -> Option<Interval> {
        let is_first = |job: &Job| job.previous.is_none() && job.kept.metrics.has_any(&MOVING);
        if !moving || !self.state().due(now).any(is_first) {
            return None;
        }
        machine.activity.measure(&machine.root).await.ok()
    }

    /// Adds the sample to each job that was due at `now`, and sets its next due time.
    fn hand_out(
        &self,
        now: Instant,
        sample: Sample,
        measured: &[(String, f64)],
        reading: Option<Arc<ActivityReading>>,
        fresh: Option<Interval>,
    ) {
        let mut state = self.state();
        let epoch = *state.epoch.get_or_insert(now);
        let after = Instant::now();
        for job in state.jobs.iter_mut().filter(|job| job.is_running() && job.next <= now) {
            let mut sample = sample;
            let interval = match (&job.previous, &reading) {
                (Some(earlier), Some(now)) => Some(Interval { earlier: Arc::clone(earlier), now: Arc::clone(now) }),
                _ => fresh.clone(),
            };
            if let Some(interval) = interval {
                look::moved(&mut sample, &interval);
            }
            job.previous.clone_from(&reading);
            for metric in 0..sample.values.len() {
                if !job.kept.metrics.has(metric) {
                    sample.values[metric] = None;
                }
            }
            for (place, name) in (COUNT..).zip(job.kept.sensors.iter()) {
                sample.set(place, measured.iter().find(|(known, _)| known == name).map(|(_, value)| *value));
            }
            job.push(sample);
            job.next = next_after(epoch, job.interval(), after);
        }
        drop(state);
        self.0.taken.notify_one();
    }

    /// Whether the oldest sample would be too old by the next one.
    fn is_time_to_flush(&self) -> bool {
        let state = self.state();
        let Some(oldest) = state.jobs.iter().filter_map(|job| job.waits_since).min() else { return false };
        let next = state.jobs.iter().filter(|job| job.is_running()).map(|job| job.next).min();
        next.is_none_or(|next| next > oldest + FLUSH_EVERY)
    }

    /// Writes the waiting samples to the card. If that fails they wait again, and the fault is kept.
    pub(super) async fn flush_locked(&self) {
        let taken: Vec<(SampleBlock, Vec<Sample>)> = self.state().jobs.iter_mut().filter_map(Job::take_block).collect();
        if taken.is_empty() {
            return;
        }
        let (blocks, samples): (Vec<_>, Vec<_>) = taken
            .into_iter()
            .map(|(block, samples)| {
                let job = block.job;
                (block, (job, samples))
            })
            .unzip();
        // Queued in the store before any await, so that a query sees the samples either in the jobs or in the store.
        let appended = self.0.store.run(move |connection| store::append(connection, &blocks).map(|()| blocks)).await;
        let mut state = self.state();
        match appended {
            Ok(blocks) => {
                if state.fault.take().is_some() {
                    tracing::info!(target: "raspi_mcp::sampling::clockwork", "samples are kept again");
                }
                for block in &blocks {
                    if let Some(job) = state.numbered(block.job) {
                        job.stored(block);
                    }
                }
            }
            Err(error) => {
                let advice = error.advice();
                if state.fault.as_ref() != Some(&advice) {
                    tracing::error!(target: "raspi_mcp::sampling::clockwork", %error, "samples could not be kept; they wait in memory, {MOST} of a job at most");
                }
                state.fault = Some(advice);
                for (job, samples) in samples {
                    if let Some(job) = state.numbered(job) {
                        job.put_back(samples);
                    }
                }
            }
        }
    }
}

/// What these sensors measure now. One that cannot be read, or not in time, is left out: its samples have a gap.
async fn measured(machine: &Machine, names: Vec<String>) -> Vec<(String, f64)> {
    if names.is_empty() {
        return Vec::new();
    }
    let read = machine.sensors.read("metrics", Wanted::Names(names), SENSOR_TURN);
    let read = timeout(SENSOR_TURN + SENSORS_TAKE, read).await.unwrap_or_else(|_| Ok(Vec::new()));
    let value = |read: hw::sensors::SensorReading| Some((read.name, read.reading.ok()?.value?));
    read.unwrap_or_default().into_iter().filter_map(value).collect()
}

/// The first whole interval after `now`, counted from `epoch`: jobs with the same interval are due together, whenever
/// they began.
fn next_after(epoch: Instant, interval: Duration, now: Instant) -> Instant {
    let gone = now.saturating_duration_since(epoch).as_millis();
    let whole = gone / interval.as_millis().max(1) + 1;
    epoch + interval * u32::try_from(whole).unwrap_or(u32::MAX)
}
