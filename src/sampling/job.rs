//! A sampling job at run time: its stored definition, the samples that wait to be flushed, and its next due time.

use super::{
    FLUSH_EVERY,
    block::{self, MOST},
    default,
    metric::{MetricKey, MetricSet, Sample},
    store::{BlockTotals, SampleBlock, StoredJob},
    threshold::{Threshold, ThresholdState},
};
use base::os::activity::ActivityReading;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The definition of a new job.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its name; generated if missing.
    pub id: Option<String>,
    /// 5-3600
    pub interval_seconds: u32,
    /// 1-168
    pub retention_hours: u32,
    pub metrics: MetricSet,
    /// By their names, at most [`super::metric::SENSORS`].
    pub sensors: Vec<String>,
    /// Of one of these metrics.
    pub threshold: Option<Threshold>,
}

/// The current state of a job.
#[derive(Clone, Debug)]
pub struct JobSummary {
    pub id: String,
    /// It was started by the configuration.
    pub is_default: bool,
    pub interval_seconds: u32,
    pub retention_hours: u32,
    pub metrics: MetricSet,
    pub sensors: Arc<[String]>,
    pub threshold: Option<ThresholdState>,
    pub created_ms: i64,
    pub stopped_ms: Option<i64>,
    /// Includes those that wait to be flushed.
    pub samples: u64,
    pub first_ms: Option<i64>,
    pub last_ms: Option<i64>,
    /// Their size in the store.
    pub bytes: u64,
    /// Samples lost since this server started.
    pub lost: u64,
    /// Why the newest samples could not be stored.
    pub fault: Option<String>,
}

/// Bytes that one flush writes to the card, and bytes added by each sample: pages of SQLite's log, and later of the
/// store. Measured by `examples/samples.rs`: 2.8 MB a day at 60 seconds, 5.2 MB at five.
const FLUSH_BYTES: u64 = 8_500;
const SAMPLE_BYTES: u64 = 160;

impl JobSummary {
    /// About how many bytes it writes to the card in a day if it runs alone. Concurrent jobs share their flushes.
    pub fn written_per_day(&self) -> u64 {
        let (interval, flush) = (u64::from(self.interval_seconds.max(1)), FLUSH_EVERY.as_secs());
        86_400 / interval.max(flush) * (FLUSH_BYTES + (flush / interval).max(1) * SAMPLE_BYTES)
    }

    /// Whether it samples this.
    pub fn takes(&self, metric: &MetricKey) -> bool {
        metric.place(self.metrics, &self.sensors).is_some()
    }
}

#[derive(Debug)]
pub(super) struct Job {
    pub kept: StoredJob,
    pub tally: BlockTotals,
    /// Samples that are not on the card yet, oldest first; they become block number `tally.next`.
    pub waiting: Vec<Sample>,
    /// When the oldest of them was taken.
    pub waits_since: Option<Instant>,
    pub lost: u64,
    /// When its next sample is due.
    pub next: Instant,
    /// The reading from which its rates are computed.
    pub previous: Option<Arc<ActivityReading>>,
    /// The newest value of the threshold's metric, and since when it is crossed.
    watched: (Option<f64>, Option<i64>),
}

impl Job {
    pub fn new(kept: StoredJob, tally: BlockTotals) -> Self {
        let next = Instant::now();
        Self {
            kept,
            tally,
            waiting: Vec::new(),
            waits_since: None,
            lost: 0,
            next,
            previous: None,
            watched: (None, None),
        }
    }

    pub fn is_running(&self) -> bool {
        self.kept.stopped_ms.is_none()
    }

    pub fn interval(&self) -> Duration {
        // Never zero, whatever the store contains.
        Duration::from_secs(self.kept.interval_seconds.max(1).into())
    }

    /// Samples older than this have aged out.
    pub fn cutoff(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(i64::from(self.kept.retention_hours) * 3_600_000)
    }

    /// The number of samples that its retention holds if the clock is right, plus one block that is partly aged.
    pub fn most_samples(&self) -> u64 {
        u64::from(self.kept.retention_hours) * 3600 / u64::from(self.kept.interval_seconds.max(1)) + MOST as u64
    }

    pub fn push(&mut self, sample: Sample) {
        self.waits_since.get_or_insert_with(Instant::now);
        self.watch(&sample);
        self.waiting.push(sample);
        self.drop_surplus();
    }

    /// Compares a sample with the threshold. Without a value it stays as it was.
    fn watch(&mut self, sample: &Sample) {
        let StoredJob { threshold: Some(threshold), metrics, sensors, id, .. } = &self.kept else { return };
        let place = threshold.metric.place(*metrics, sensors);
        let Some(raw) = place.and_then(|place| sample.values[place]) else { return };
        let (value, crossed_ms) = (threshold.metric.about().number(raw), self.watched.1);
        let is_crossed = threshold.is_crossed(value, crossed_ms.is_some());
        if is_crossed != crossed_ms.is_some() {
            let (metric, limit) = (threshold.metric.name(), threshold.limit);
            if is_crossed {
                tracing::warn!(job = %id, metric, value, limit, "a threshold is crossed");
            } else {
                tracing::info!(job = %id, metric, value, limit, "a threshold is no longer crossed");
            }
        }
        self.watched = (Some(value), is_crossed.then_some(crossed_ms.unwrap_or(sample.at_ms)));
    }

    /// How its threshold is, if it has one.
    pub fn threshold(&self) -> Option<ThresholdState> {
        let (threshold, (value, crossed_ms)) = (self.kept.threshold.clone()?, self.watched);
        Some(ThresholdState { job: self.kept.id.clone(), threshold, value, crossed_ms })
    }

    /// Takes the waiting samples as a block.
    pub fn take_block(&mut self) -> Option<(SampleBlock, Vec<Sample>)> {
        if self.waiting.is_empty() {
            return None;
        }
        let samples = std::mem::take(&mut self.waiting);
        self.waits_since = None;
        let times = || samples.iter().map(|sample| sample.at_ms);
        let block = SampleBlock {
            job: self.kept.number,
            number: self.tally.next,
            first_ms: times().min().unwrap_or_default(),
            last_ms: times().max().unwrap_or_default(),
            count: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            bytes: block::encode(&samples, self.kept.metrics),
        };
        self.tally.next += 1;
        Some((block, samples))
    }

    /// Called when the block is on the card.
    pub fn stored(&mut self, block: &SampleBlock) {
        self.tally.samples += u64::from(block.count);
        self.tally.bytes += block.weight();
        self.tally.first_ms.get_or_insert(block.first_ms);
        self.tally.last_ms = Some(block.last_ms);
    }

    /// Called when the block could not be stored: its samples wait again, before newer ones.
    pub fn put_back(&mut self, mut samples: Vec<Sample>) {
        samples.append(&mut self.waiting);
        self.waiting = samples;
        self.tally.next -= 1;
        // Wait before the next attempt: the card has just failed.
        self.waits_since = Some(Instant::now());
        self.drop_surplus();
    }

    fn drop_surplus(&mut self) {
        let surplus = self.waiting.len().saturating_sub(MOST);
        self.waiting.drain(..surplus);
        self.lost += surplus as u64;
    }

    pub fn status(&self, fault: Option<String>) -> JobSummary {
        let waiting = |sample: Option<&Sample>| sample.map(|sample| sample.at_ms);
        JobSummary {
            id: self.kept.id.clone(),
            is_default: self.kept.number == default::NUMBER,
            interval_seconds: self.kept.interval_seconds,
            retention_hours: self.kept.retention_hours,
            metrics: self.kept.metrics,
            sensors: Arc::clone(&self.kept.sensors),
            threshold: self.threshold(),
            created_ms: self.kept.created_ms,
            stopped_ms: self.kept.stopped_ms,
            samples: self.tally.samples + self.waiting.len() as u64,
            first_ms: self.tally.first_ms.or(waiting(self.waiting.first())),
            last_ms: waiting(self.waiting.last()).or(self.tally.last_ms),
            bytes: self.tally.bytes,
            lost: self.lost,
            fault,
        }
    }
}
