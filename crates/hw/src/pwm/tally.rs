//! Measures the edges of software PWM, in its own thread.

use super::port::Wave;
use crate::line::Level;
use std::time::{Duration, Instant};

/// How steady the edges are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Jitter {
    /// A circuit makes them: no processor is in the way.
    Hardware,
    /// 99 of 100 edges come within 100 µs of their time.
    Low,
    /// Within a millisecond.
    Medium,
    /// Later.
    High,
}

const LOW: Duration = Duration::from_micros(100);
const MEDIUM: Duration = Duration::from_millis(1);
/// One in this many edges may be later than its class allows.
const ONE_OF: u64 = 100;

/// Since the last change of the wave.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeStatistics {
    /// Whole periods.
    pub periods: u64,
    edges: u64,
    beyond_low: u64,
    beyond_medium: u64,
    worst: Duration,
    first_rise: Option<Instant>,
    last_rise: Option<Instant>,
    /// Time high in the whole periods.
    high: Duration,
    /// Time high in the current period.
    high_now: Duration,
}

impl EdgeStatistics {
    /// Records an edge to `level` that was due at `due` and made at `at`.
    pub fn edge(&mut self, level: Level, due: Instant, at: Instant) {
        let late = at.saturating_duration_since(due);
        self.edges += 1;
        self.beyond_low += u64::from(late >= LOW);
        self.beyond_medium += u64::from(late >= MEDIUM);
        self.worst = self.worst.max(late);
        match (level, self.last_rise) {
            (Level::Low, Some(rise)) => self.high_now = at.saturating_duration_since(rise),
            (Level::Low, None) => {}
            (Level::High, before) => {
                if before.is_some() {
                    self.periods += 1;
                    self.high += self.high_now;
                }
                self.high_now = Duration::ZERO;
                self.first_rise.get_or_insert(at);
                self.last_rise = Some(at);
            }
        }
    }

    /// The measured frequency in hertz and duty cycle in per cent; the scheduled ones before the first whole period.
    /// The schedule does not drift: each edge has a fixed time.
    pub fn achieved(&self, wave: Wave) -> (f64, f64) {
        let span = self.first_rise.zip(self.last_rise).map(|(first, last)| last.saturating_duration_since(first));
        match span {
            Some(span) if self.periods > 0 && !span.is_zero() => {
                let seconds = span.as_secs_f64();
                (self.periods as f64 / seconds, self.high.as_secs_f64() / seconds * 100.0)
            }
            _ => (wave.frequency_hz(), wave.duty_cycle_percent()),
        }
    }

    pub fn jitter(&self) -> Jitter {
        let few = |beyond: u64| beyond * ONE_OF <= self.edges;
        match (few(self.beyond_low), few(self.beyond_medium)) {
            (true, _) => Jitter::Low,
            (false, true) => Jitter::Medium,
            (false, false) => Jitter::High,
        }
    }

    /// The largest delay of an edge.
    pub fn worst(&self) -> Duration {
        self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 kHz at a quarter, each edge late by what `late` says for it.
    fn tally(edges: u64, late: impl Fn(u64) -> Duration) -> EdgeStatistics {
        let (start, mut tally) = (Instant::now(), EdgeStatistics::default());
        for edge in 0..edges {
            let (level, within) = if edge % 2 == 0 { (Level::High, 0) } else { (Level::Low, 250) };
            let due = start + Duration::from_micros(edge / 2 * 1000 + within);
            tally.edge(level, due, due + late(edge));
        }
        tally
    }

    #[test]
    fn what_is_late_by_the_same_is_steady_in_frequency_and_duty() {
        let wave = Wave::of(1000.0, 25.0).unwrap();
        let steady = tally(41, |_| Duration::from_micros(80));
        assert_eq!((steady.periods, steady.worst()), (20, Duration::from_micros(80)));
        assert_eq!(steady.achieved(wave), (1000.0, 25.0));
        // Falling edges late by 50 µs: 5 points more of each millisecond.
        let (frequency, duty) = tally(41, |edge| Duration::from_micros(edge % 2 * 50)).achieved(wave);
        assert_eq!(frequency, 1000.0);
        assert!((duty - 30.0).abs() < 1e-9, "{duty}");
    }

    #[test]
    fn one_edge_of_a_hundred_may_be_late_and_not_two() {
        let late_once = |by: u64| move |edge: u64| Duration::from_micros(if edge == 50 { by } else { 99 });
        assert_eq!(tally(100, late_once(5000)).jitter(), Jitter::Low);
        assert_eq!(tally(99, late_once(999)).jitter(), Jitter::Medium);
        assert_eq!(tally(99, late_once(1000)).jitter(), Jitter::High);
        assert_eq!(tally(100, |_| Duration::from_micros(100)).jitter(), Jitter::Medium);
        assert_eq!(tally(100, |_| Duration::from_micros(1000)).jitter(), Jitter::High);
    }

    #[test]
    fn before_a_whole_period_the_schedule_speaks() {
        let wave = Wave::of(2.0, 10.0).unwrap();
        assert_eq!(tally(2, |_| Duration::ZERO).achieved(wave), (2.0, 10.0));
        assert_eq!(EdgeStatistics::default().achieved(wave), (2.0, 10.0));
        assert_eq!(EdgeStatistics::default().jitter(), Jitter::Low);
    }
}
