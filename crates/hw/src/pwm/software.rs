//! Software PWM: a thread switches the line at each edge's time.
//!
//! Every edge has its scheduled time on the monotonic clock, so a late one does not shift the others. Between edges the
//! thread is parked, until a high-resolution timer, a change or the end wakes it. 0 and 100 per cent have no edges, so
//! the thread sleeps until a change. It has normal priority (the unit has RestrictRealtime), so its jitter depends on
//! the load; [`EdgeStatistics`] measures it.

use super::{
    port::{PwmError, Wave},
    tally::EdgeStatistics,
};
use crate::line::{self, Level, Line};
use contract::values::Pin;
use std::{
    num::NonZeroU64,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle, Thread},
    time::{Duration, Instant},
};
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// The highest frequency, in hertz: at 2 kHz one per cent of duty is 5 µs, less than a wake-up takes (docs/pwm.md).
pub const HIGHEST_HZ: f64 = 2000.0;
/// Limit of simultaneous waves, each with a thread.
pub const MOST: usize = 4;
/// A measurement takes this many periods …
const ENOUGH_PERIODS: u64 = 10;
/// … or this long, whichever is shorter.
const ENOUGH_TIME: Duration = Duration::from_millis(100);
/// The thread needs little stack; untouched pages use no memory.
const STACK: usize = 128 * 1024;

/// A thread that drives a wave on a line. Dropping it ends the thread, with the line low.
pub struct Generator {
    shared: Arc<Shared>,
    thread: Thread,
    handle: Mutex<Option<JoinHandle<()>>>,
    _permit: OwnedSemaphorePermit,
}

struct Shared {
    line: Arc<dyn Line>,
    state: Mutex<State>,
    /// `state` has changed for the thread.
    told: AtomicBool,
    /// Notified when the thread has measured enough, or ended.
    measured: Notify,
}

struct State {
    wave: Wave,
    stop: bool,
    /// The thread has not applied it yet.
    pending: bool,
    tally: EdgeStatistics,
    /// Why the thread ended by itself.
    fault: Option<String>,
}

impl Generator {
    /// Starts at once with the rising edge. `permit` limits the number of threads.
    ///
    /// # Errors
    /// The kernel's, when no more threads can be started.
    pub fn start(pin: Pin, line: Arc<dyn Line>, wave: Wave, permit: OwnedSemaphorePermit) -> Result<Self, PwmError> {
        let state =
            Mutex::new(State { wave, stop: false, pending: true, tally: EdgeStatistics::default(), fault: None });
        let shared = Arc::new(Shared { line, state, told: AtomicBool::new(false), measured: Notify::new() });
        let theirs = Arc::clone(&shared);
        // ps shows 15 bytes of a thread's name.
        let builder = thread::Builder::new().name(format!("pwm-gpio{}", pin.bcm())).stack_size(STACK);
        let handle = builder.spawn(move || theirs.run())?;
        Ok(Self { shared, thread: handle.thread().clone(), handle: Mutex::new(Some(handle)), _permit: permit })
    }

    /// Changes the wave within the current period: the line keeps its level until its next edge by the new wave.
    ///
    /// # Errors
    /// [`PwmError::TooFast`], or why the thread has ended.
    pub fn set(&self, wave: Wave) -> Result<(), PwmError> {
        feasible(wave)?;
        self.alter(|state| {
            state.wave = wave;
            state.tally = EdgeStatistics::default();
        });
        self.glance().map(drop)
    }

    /// The wave, and its measurement so far.
    ///
    /// # Errors
    /// Why the thread has ended: the line could not be driven.
    pub fn glance(&self) -> Result<(Wave, EdgeStatistics), PwmError> {
        let state = self.shared.state();
        match &state.fault {
            Some(why) => Err(PwmError::Unsupported(why.clone())),
            None => Ok((state.wave, state.tally)),
        }
    }

    /// The same, once the thread has applied it and ten periods or 100 ms were measured since the last change.
    ///
    /// # Errors
    /// As [`Generator::glance`].
    pub async fn measured(&self) -> Result<(Wave, EdgeStatistics), PwmError> {
        let enough = async {
            loop {
                let told = self.shared.measured.notified();
                tokio::pin!(told);
                told.as_mut().enable();
                if self.shared.state().is_enough() {
                    return;
                }
                told.await;
            }
        };
        // For a wave too slow for ten periods: the measurement so far.
        let _ = tokio::time::timeout(ENOUGH_TIME, enough).await;
        self.glance()
    }

    /// Ends the thread and waits for it, which takes as long as a wake-up. The line is then low, and still held.
    pub fn stop(&self) {
        self.alter(|state| state.stop = true);
        if let Some(handle) = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The hook has reported a panic of the thread already.
            let _ = handle.join();
        }
    }

    fn alter(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.shared.state();
        change(&mut state);
        state.pending = true;
        self.shared.told.store(true, Ordering::Release);
        drop(state);
        self.thread.unpark();
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.stop();
    }
}

impl State {
    fn is_enough(&self) -> bool {
        let measured = self.wave.is_constant() || self.tally.periods >= ENOUGH_PERIODS;
        self.fault.is_some() || measured && !self.pending
    }
}

/// How long the line stays at `level`, within a period.
fn part(wave: Wave, level: Level) -> Duration {
    if level.is_high() { wave.high() } else { wave.period() }
}

/// # Errors
/// [`PwmError::TooFast`].
pub fn feasible(wave: Wave) -> Result<(), PwmError> {
    // 0 and 100 per cent work at any frequency.
    if wave.is_constant() || wave.period().as_secs_f64() >= 1.0 / HIGHEST_HZ { Ok(()) } else { Err(PwmError::TooFast) }
}

impl Shared {
    /// Every change is atomic, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // Otherwise the kernel may add 50 µs of timer slack (prctl(2), PR_SET_TIMERSLACK). If refused, the measurement
        // shows it.
        let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
        let ended = self.make().and_then(|()| self.line.set(Level::Low));
        if let Err(fault) = ended {
            self.state().fault = Some(format!("the line cannot be driven any more: {fault}"));
        }
        self.measured.notify_waiters();
    }

    /// Makes edge after edge, until stopped.
    fn make(&self) -> Result<(), line::LineError> {
        let mut tally = EdgeStatistics::default();
        let mut wave = self.state().wave;
        let mut level = Level::of(!wave.high().is_zero());
        // The scheduled start of the current period.
        let mut rise = Instant::now();
        self.line.set(level)?;
        tally.edge(level, rise, Instant::now());
        self.arrived(wave);
        loop {
            let due = (!wave.is_constant()).then(|| rise + part(wave, level));
            if self.told_before(due) {
                let Some(new) = self.next_wave() else { return Ok(()) };
                let was_constant = wave.is_constant();
                (wave, tally) = (new, EdgeStatistics::default());
                if wave.is_constant() {
                    level = Level::of(!wave.high().is_zero());
                    self.line.set(level)?;
                } else {
                    let now = Instant::now();
                    if was_constant && level.is_high() {
                        rise = now;
                    } else if was_constant || rise + part(wave, level) < now {
                        // The next edge is now, and the following ones keep their lengths.
                        rise = now.checked_sub(part(wave, level)).unwrap_or(now);
                    }
                }
                self.arrived(wave);
            } else if let Some(due) = due {
                level = !level;
                self.line.set(level)?;
                let at = Instant::now();
                tally.edge(level, due, at);
                if level.is_high() {
                    // A period or more late (the machine slept, or was busy): missed periods are skipped.
                    rise = if at < due + wave.period() { due } else { at };
                    self.publish(tally);
                }
            }
        }
    }

    /// The wave to make; `None` at the end.
    fn next_wave(&self) -> Option<Wave> {
        let state = self.state();
        (!state.stop).then_some(state.wave)
    }

    /// The line follows `wave` now.
    fn arrived(&self, wave: Wave) {
        let mut state = self.state();
        // There may be a newer one already.
        if state.wave == wave {
            state.pending = false;
            if wave.is_constant() {
                self.measured.notify_waiters();
            }
        }
    }

    /// Waits until `next`, or without limit. Returns whether the state has changed instead.
    fn told_before(&self, next: Option<Instant>) -> bool {
        loop {
            if self.told.swap(false, Ordering::Acquire) {
                return true;
            }
            match next.map(|next| next.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(left) if left.is_zero() => return false,
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    fn publish(&self, tally: EdgeStatistics) {
        let mut state = self.state();
        // A measurement of the previous wave does not count for the new one.
        if !self.told.load(Ordering::Acquire) {
            state.tally = tally;
        }
        drop(state);
        if tally.periods == ENOUGH_PERIODS {
            self.measured.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gpio::SimulatedGpio,
        line::{GpioPort, Take},
    };
    use tokio::sync::Semaphore;

    fn pin() -> Pin {
        Pin::try_from(17).unwrap()
    }

    fn start(frequency: f64, duty: f64) -> (SimulatedGpio, Result<Generator, PwmError>) {
        let lines = SimulatedGpio::default();
        let line = lines.take(pin(), Take::Output { level: Level::High }, "test").unwrap();
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let started = Generator::start(pin(), line.into(), Wave::of(frequency, duty).unwrap(), permit);
        (lines, started)
    }

    #[tokio::test]
    async fn ten_periods_are_measured_and_it_ends_low() {
        let mut seen = Vec::new();
        // A busy machine disturbs one measurement or another, and not ten of them. A wave of the wrong frequency or
        // duty is outside of the bounds every time.
        for _ in 0..10 {
            let (lines, generator) = start(200.0, 40.0);
            let generator = generator.unwrap();
            let (wave, tally) = generator.measured().await.unwrap();
            assert!(tally.periods >= 10);
            generator.stop();
            assert_eq!(lines.level(pin()), Level::Low);
            assert_eq!(lines.held(), 1, "the line is still whoever's gave it");
            let (frequency, duty) = tally.achieved(wave);
            if (150.0..=210.0).contains(&frequency) && (25.0..=55.0).contains(&duty) {
                return;
            }
            seen.push((frequency, duty));
        }
        panic!("frequencies in Hz and duties in %: {seen:?}");
    }

    #[tokio::test]
    async fn the_ends_of_the_scale_are_levels_without_edges() {
        let (lines, generator) = start(50_000.0, 100.0);
        let generator = generator.unwrap();
        let (_, tally) = generator.measured().await.unwrap();
        assert_eq!((lines.level(pin()), tally.periods), (Level::High, 0));
        generator.set(Wave::of(50_000.0, 0.0).unwrap()).unwrap();
        generator.measured().await.unwrap();
        assert_eq!(lines.level(pin()), Level::Low);
        generator.set(Wave::of(500.0, 50.0).unwrap()).unwrap();
        assert!(generator.measured().await.unwrap().1.periods >= 10, "and it wakes up again");
    }

    #[tokio::test]
    async fn a_slow_wave_is_changed_and_ended_at_once() {
        let (_, generator) = start(1.0, 50.0);
        let generator = generator.unwrap();
        let began = Instant::now();
        let (wave, tally) = generator.measured().await.unwrap();
        assert_eq!((tally.periods, tally.achieved(wave)), (0, (1.0, 50.0)));
        // Its next edge would be 400 ms away.
        generator.set(Wave::of(1000.0, 50.0).unwrap()).unwrap();
        generator.measured().await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(400), "{:?}", began.elapsed());
        generator.set(Wave::of(1.0, 50.0).unwrap()).unwrap();
        let ending = Instant::now();
        generator.stop();
        assert!(ending.elapsed() < Duration::from_millis(300), "{:?}", ending.elapsed());
    }

    #[tokio::test]
    async fn too_fast_is_refused_and_changes_nothing() {
        let (_, generator) = start(2000.0, 50.0);
        let generator = generator.unwrap();
        assert!(matches!(generator.set(Wave::of(2001.0, 50.0).unwrap()), Err(PwmError::TooFast)));
        assert_eq!(generator.glance().unwrap().0, Wave::of(2000.0, 50.0).unwrap());
        assert!(matches!(feasible(Wave::of(2001.0, 1.0).unwrap()), Err(PwmError::TooFast)));
    }

    #[tokio::test]
    async fn a_line_that_fails_is_told_and_ends_the_thread() {
        let (lines, generator) = start(500.0, 50.0);
        let generator = generator.unwrap();
        generator.measured().await.unwrap();
        lines.fail(Some("the wire broke"));
        generator.set(Wave::of(400.0, 50.0).unwrap()).unwrap();
        let told = generator.measured().await.unwrap_err().to_string();
        assert_eq!(told, "the line cannot be driven any more: the wire broke");
        generator.stop();
    }
}
