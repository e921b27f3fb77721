//! A repetition of levels as one order: it continues without its caller and ends in the pin's safe state.
//!
//! The keeper of leases performs it, so there are no wake-ups without one. The level is computed from the elapsed time:
//! a keeper that wakes late skips levels, and the end stays on schedule.

use super::{
    lease::{Back, HeldBy, Owner},
    lines::{GpioLines, WriteEffect},
    refusal::GpioRefusal,
};
use crate::line::Level;
use contract::values::Pin;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The rest of a repetition.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    first: Level,
    began: Instant,
    /// How long each level lasts.
    interval: Duration,
    /// When the level changes next.
    pub next: Instant,
    pub ends: Instant,
}

impl Repetition {
    /// `times` times `first` and the other level, `interval` each.
    fn new(first: Level, times: u32, interval: Duration, now: Instant) -> Self {
        Self { first, began: now, interval, next: now + interval, ends: now + interval * (2 * times) }
    }

    /// The level from `now` to the next change; `None` once it has ended.
    pub fn step(&mut self, now: Instant) -> Option<Level> {
        if now >= self.ends {
            return None;
        }
        let passed = now.saturating_duration_since(self.began).as_nanos() / self.interval.as_nanos().max(1);
        // At most twice the number of repetitions.
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        self.next = (self.began + self.interval * passed.saturating_add(1)).min(self.ends);
        Some(if passed % 2 == 0 { self.first } else { !self.first })
    }
}

impl GpioLines {
    /// Writes `first` and the other level in turn, `times` times each and `interval` long each; then the lease ends and
    /// the pin goes to its safe state. It continues when the caller's connection ends. A later write, configuration or
    /// release replaces it.
    ///
    /// # Errors
    /// [`GpioRefusal`]: then nothing has changed.
    pub fn repeat(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        first: Level,
        times: u32,
        interval: Duration,
    ) -> Result<WriteEffect, GpioRefusal> {
        let mut state = self.state();
        let previous = self.drive(&mut state, owner, pin, first, None)?;
        let Some(lease) = state.leases.get_mut(&pin) else { return Err(GpioRefusal::NotLent) };
        let repeat = Repetition::new(first, times, interval, Instant::now());
        lease.owner = owner.clone();
        (lease.revert, lease.lasts, lease.until, lease.repeat) = (None, None, None, Some(repeat));
        self.schedule_expiry(&mut state, pin);
        drop(state);
        self.alter(pin);
        let revert = Some((repeat.ends, Back::Safe));
        Ok(WriteEffect { previous, revert, ends: Some(repeat.ends), held_by: HeldBy::Schedule })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_leaves_levels_out_and_ends_in_time() {
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let mut repeat = Repetition::new(Level::High, 3, second, began);
        assert_eq!((repeat.next, repeat.ends), (began + second, began + 6 * second));
        for (after, level, next) in
            [(1.0, Level::Low, 2), (1.9, Level::Low, 2), (4.5, Level::High, 5), (5.999, Level::Low, 6)]
        {
            assert_eq!(repeat.step(began + Duration::from_secs_f64(after)), Some(level), "{after}");
            assert_eq!(repeat.next, began + second * next, "{after}");
        }
        assert_eq!(repeat.step(began + 6 * second), None);
        assert_eq!(repeat.step(began + 3600 * second), None);
    }
}
