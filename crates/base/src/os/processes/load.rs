//! Processor time per process: since a reading of a quarter of a second to a minute ago, otherwise since the process
//! started.

use super::stat::{Stat, TICKS};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Preferred minimum age of the earlier reading: a tick is ten milliseconds, so shorter intervals are inaccurate.
const YOUNGEST: Duration = Duration::from_millis(500);
/// The wait for processor time when there is no earlier reading: 25 ticks give a share to 4 %.
pub const SHORTEST: Duration = Duration::from_millis(250);
/// Maximum age of the earlier reading.
const OLDEST: Duration = Duration::from_secs(60);
/// The newest reading may be too recent to compare with, so the one before it is kept too.
const KEPT: usize = 2;
/// Limit of processes kept per reading: 96 KiB.
const MOST: usize = 8192;

/// The counters of every process at one moment.
#[derive(Debug)]
struct Reading {
    /// Time since boot.
    at: Duration,
    /// By pid.
    counts: Vec<Count>,
}

/// Twelve bytes per process. The lower halves of the kernel's counters suffice: a confusion would need the same id and
/// the same start.
#[derive(Debug)]
struct Count {
    pid: u32,
    start: u32,
    ticks: u32,
}

/// The readings kept between calls.
#[derive(Debug, Default)]
pub struct CpuReadings {
    kept: Mutex<VecDeque<Arc<Reading>>>,
}

/// The earlier reading of a comparison.
#[derive(Debug)]
pub struct EarlierReading {
    now: Duration,
    earlier: Option<Arc<Reading>>,
}

impl CpuReadings {
    /// Compares `stats`, all processes at `now` since boot, with an earlier reading, and keeps them for the next call.
    pub fn compare(&self, now: Duration, stats: &[Stat]) -> EarlierReading {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let older = |youngest: Duration| {
            kept.iter().rfind(|reading| (youngest..=OLDEST).contains(&now.saturating_sub(reading.at)))
        };
        let earlier = older(YOUNGEST).or_else(|| older(SHORTEST)).cloned();
        // A very recent newest reading is kept until it is old enough, so that the next call has a usable one.
        if kept.back().is_none_or(|newest| now.saturating_sub(newest.at) >= YOUNGEST) {
            kept.push_back(Arc::new(Reading::of(now, stats)));
            while kept.len() > KEPT {
                kept.pop_front();
            }
        }
        EarlierReading { now, earlier }
    }
}

impl Reading {
    fn of(at: Duration, stats: &[Stat]) -> Self {
        let mut counts: Vec<Count> = stats.iter().take(MOST).map(Count::of).collect();
        crate::sort::sort_by_key(&mut counts, |count| count.pid);
        Self { at, counts }
    }
}

impl Count {
    // Truncates to the lower half.
    fn of(stat: &Stat) -> Self {
        Self { pid: stat.pid, start: stat.start_ticks as u32, ticks: stat.ticks() as u32 }
    }
}

impl EarlierReading {
    /// Compares a moment `now` with `stats`, all processes at `before`, for a caller that reads twice.
    pub fn between(before: Duration, stats: &[Stat], now: Duration) -> Self {
        Self { now, earlier: Some(Arc::new(Reading::of(before, stats))) }
    }

    /// Age of the earlier reading in seconds, at least a tick; `None` without one.
    pub fn seconds(&self) -> Option<f64> {
        self.earlier.as_ref().map(|earlier| self.now.saturating_sub(earlier.at).as_secs_f64().max(1.0 / TICKS))
    }

    /// The interval of `stat`'s percentage in seconds: since the earlier reading, or since the process started.
    pub fn seconds_of(&self, stat: &Stat) -> f64 {
        match self.before(stat) {
            Some(_) => self.seconds().unwrap_or_default(),
            None => (self.now.as_secs_f64() - stat.start_ticks as f64 / TICKS).max(1.0 / TICKS),
        }
    }

    /// Share of one processor, in percent; above 100 with several busy threads.
    pub fn percent(&self, stat: &Stat) -> f64 {
        let ticks = match self.before(stat) {
            Some(before) => (stat.ticks() as u32).wrapping_sub(before) as f64,
            None => stat.ticks() as f64,
        };
        ticks / TICKS / self.seconds_of(stat) * 100.0
    }

    fn before(&self, stat: &Stat) -> Option<u32> {
        let counts = &self.earlier.as_ref()?.counts;
        let at = counts.binary_search_by_key(&stat.pid, |count| count.pid).ok()?;
        (counts[at].start == stat.start_ticks as u32).then_some(counts[at].ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, start_ticks: u64, user_ticks: u64) -> Stat {
        Stat {
            pid,
            comm: "x".into(),
            state: 'S',
            ppid: 1,
            is_kernel: false,
            user_ticks,
            system_ticks: 0,
            nice: 0,
            threads: 1,
            start_ticks,
            virtual_bytes: 0,
            resident_pages: 0,
        }
    }

    #[test]
    fn against_a_reading_half_a_second_to_a_minute_old() {
        let load = CpuReadings::default();
        let at = Duration::from_secs;
        // 100 s of processor time in the 1000 s since it started.
        let first = load.compare(at(1000), &[stat(7, 0, 10_000)]);
        assert_eq!((first.seconds(), first.percent(&stat(7, 0, 10_000)).round()), (None, 10.0));
        let second = load.compare(at(1010), &[stat(7, 0, 10_500)]);
        assert_eq!((second.seconds(), second.percent(&stat(7, 0, 10_500)).round()), (Some(10.0), 50.0));
        // Another process by that number: since it started.
        assert_eq!(second.percent(&stat(7, 100_500, 100)).round(), 20.0);
        let third = load.compare(at(1010) + YOUNGEST / 2, &[stat(7, 0, 10_500)]);
        assert_eq!(third.seconds(), Some(10.25), "the newest is too young");
        assert_eq!(load.compare(at(2000), &[]).seconds(), None, "and the others too old");
        assert_eq!(
            load.compare(at(2000) + SHORTEST, &[]).seconds(),
            Some(0.25),
            "where it is all there is, it will do"
        );
        let sooner = load.compare(at(2000) + SHORTEST - Duration::from_millis(1), &[]);
        assert_eq!(sooner.seconds(), None);
    }

    #[test]
    fn two_readings_of_one_caller() {
        let at = Duration::from_secs(1000);
        let since = EarlierReading::between(at, &[stat(7, 0, 10_000)], at + SHORTEST);
        assert_eq!((since.seconds(), since.percent(&stat(7, 0, 10_025)).round()), (Some(0.25), 100.0));
        // A clock that has not moved divides by nothing.
        let still = EarlierReading::between(at, &[stat(7, 0, 10_000)], at);
        assert_eq!((still.seconds(), still.percent(&stat(7, 0, 10_000))), (Some(0.01), 0.0));
    }

    #[test]
    fn counters_may_wrap() {
        let load = CpuReadings::default();
        let (before, after) = (stat(7, 0, u64::from(u32::MAX)), stat(7, 0, u64::from(u32::MAX) + 100));
        load.compare(Duration::from_secs(1), &[before]);
        let since = load.compare(Duration::from_secs(2), std::slice::from_ref(&after));
        assert_eq!(since.percent(&after).round(), 100.0);
    }
}
