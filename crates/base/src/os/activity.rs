//! The machine's load, from counters read at two times.
//!
//! Readings of earlier calls are kept, so a caller that asks every few seconds gets the mean since its last call
//! without a wait. Without a usable earlier reading, two are taken a quarter of a second apart.

use super::{
    Root,
    cpu_stat::{self, Ticks},
    diskstats::{self, DiskCounters},
    net_dev::{self, InterfaceCounters},
};
use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Minimum age of the earlier reading: at 100 ticks a second half a second is only 50 ticks per core.
const YOUNGEST: Duration = Duration::from_millis(500);
/// Maximum age of the earlier reading.
const OLDEST: Duration = Duration::from_secs(60);
/// The wait when there is no earlier reading.
const SHORTEST: Duration = Duration::from_millis(250);
/// The newest reading may be too recent to compare with, so the one before it is kept too.
const KEPT: usize = 2;

/// All counters at one moment.
#[derive(Debug)]
pub struct ActivityReading {
    pub at: Instant,
    pub cpu: Ticks,
    pub network: io::Result<Vec<InterfaceCounters>>,
    pub disks: io::Result<Vec<DiskCounters>>,
}

impl ActivityReading {
    /// # Errors
    /// Those of [`cpu_stat::read`], without which there is no result.
    pub fn take(root: &Root) -> io::Result<Self> {
        let cpu = cpu_stat::read(root)?;
        Ok(Self { at: Instant::now(), cpu, network: net_dev::read(root), disks: diskstats::read(root) })
    }
}

/// Two readings and the time between them.
#[derive(Clone, Debug)]
pub struct Interval {
    pub earlier: Arc<ActivityReading>,
    pub now: Arc<ActivityReading>,
}

impl Interval {
    /// Seconds between the readings; never 0.
    pub fn seconds(&self) -> f64 {
        self.now.at.saturating_duration_since(self.earlier.at).max(Duration::from_millis(1)).as_secs_f64()
    }
    /// The share of that time in which the processors were busy, 0-100.
    pub fn cpu_percent(&self) -> f64 {
        self.now.cpu.percent_since(self.earlier.cpu)
    }
    /// Bytes sent and received per second, by all interfaces present both times. `None` when the counters could not be
    /// read both times.
    pub fn network_bytes(&self) -> Option<(f64, f64)> {
        let (before, now) = (self.earlier.network.as_ref().ok()?, self.now.network.as_ref().ok()?);
        let pairs = now.iter().filter_map(|now| Some((before.iter().find(|old| old.name == now.name)?, now)));
        Some(pairs.fold((0.0, 0.0), |(sent, received), (old, now)| {
            let rate = |before, now| self.per_second(before, now);
            (sent + rate(old.sent.bytes, now.sent.bytes), received + rate(old.received.bytes, now.received.bytes))
        }))
    }
    /// Bytes read and written per second, by all disks present both times. `None` as for the network.
    pub fn disk_bytes(&self) -> Option<(f64, f64)> {
        let (before, now) = (self.earlier.disks.as_ref().ok()?, self.now.disks.as_ref().ok()?);
        let pairs = now.iter().filter_map(|now| Some((before.iter().find(|old| old.name == now.name)?, now)));
        Some(pairs.fold((0.0, 0.0), |(read, written), (old, now)| {
            let rate = |before, now| self.per_second(before, now);
            (read + rate(old.read_bytes, now.read_bytes), written + rate(old.written_bytes, now.written_bytes))
        }))
    }
    /// `now - before` of one counter, per second; 0 if the counter was reset.
    pub fn per_second(&self, before: u64, now: u64) -> f64 {
        now.saturating_sub(before) as f64 / self.seconds()
    }
}

/// The readings kept between calls.
#[derive(Debug, Default)]
pub struct Activity {
    kept: Mutex<VecDeque<Arc<ActivityReading>>>,
}

impl Activity {
    /// Measures since an earlier reading of 0.5 to 60 seconds ago, otherwise over the next quarter of a second.
    /// Dropping the future ends the wait.
    ///
    /// # Errors
    /// Those of [`ActivityReading::take`].
    pub async fn measure(&self, root: &Root) -> io::Result<Interval> {
        let now = Arc::new(ActivityReading::take(root)?);
        if let Some(earlier) = self.earlier_than(&now) {
            self.keep(&now);
            return Ok(Interval { earlier, now });
        }
        self.keep(&now);
        sleep(SHORTEST).await;
        Ok(Interval { earlier: now, now: Arc::new(ActivityReading::take(root)?) })
    }

    fn earlier_than(&self, now: &ActivityReading) -> Option<Arc<ActivityReading>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let usable = |reading: &&Arc<ActivityReading>| {
            (YOUNGEST..=OLDEST).contains(&now.at.saturating_duration_since(reading.at))
        };
        kept.iter().rfind(usable).cloned()
    }

    /// Keeps `now`, unless the newest one is so recent that the next call could use neither.
    fn keep(&self, now: &Arc<ActivityReading>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.back().is_none_or(|newest| now.at.saturating_duration_since(newest.at) >= YOUNGEST) {
            kept.push_back(Arc::clone(now));
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
    }
}
