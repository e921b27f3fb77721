//! The port to hardware PWM, and the type of a wave.
//!
//! Terms are the kernel's (Documentation/driver-api/pwm.rst): a *chip* has *channels*, each with a period and a duty
//! cycle (the high part), both in nanoseconds.

use crate::line;
use contract::values::Pin;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::{fmt, io, time::Duration};

/// Bounds of `gpio.set_pwm`, in hertz (docs/contract/gpio.md).
pub const LOWEST_HZ: f64 = 1.0;
pub const HIGHEST_HZ: f64 = 50_000.0;

/// A square wave in whole nanoseconds, as in the kernel. The high part is never longer than the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wave {
    period: Duration,
    high: Duration,
}

impl Wave {
    /// Both rounded to the nearest nanosecond. `None` outside of [`LOWEST_HZ`] to [`HIGHEST_HZ`] and 0 to 100 per cent,
    /// and for NaN.
    pub fn of(frequency_hz: f64, duty_cycle_percent: f64) -> Option<Self> {
        if !(LOWEST_HZ..=HIGHEST_HZ).contains(&frequency_hz) || !(0.0..=100.0).contains(&duty_cycle_percent) {
            return None;
        }
        let period = 1e9 / frequency_hz;
        let high = period * duty_cycle_percent / 100.0;
        // Between 0 and 1e9 by the bounds above.
        let whole = |nanoseconds: f64| Duration::from_nanos((nanoseconds + 0.5) as u64);
        Some(Self { period: whole(period), high: whole(high).min(whole(period)) })
    }

    pub const fn period(self) -> Duration {
        self.period
    }
    pub const fn high(self) -> Duration {
        self.high
    }
    pub fn frequency_hz(self) -> f64 {
        1.0 / self.period.as_secs_f64()
    }
    pub fn duty_cycle_percent(self) -> f64 {
        self.high.as_secs_f64() / self.period.as_secs_f64() * 100.0
    }
    /// Always low or always high, without edges.
    pub fn is_constant(self) -> bool {
        self.high.is_zero() || self.high == self.period
    }
}

/// One channel, by a name that is stable across kernels and restarts, unlike the numbers of chips.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(expecting = "struct Slot")]
pub struct PwmChannelId {
    /// The device of the chip: `fe20c000.pwm`.
    pub chip: String,
    pub channel: u32,
}

impl fmt::Display for PwmChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {} of {}", self.channel, self.chip)
    }
}

/// Why a pin has no hardware PWM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Without {
    /// A sentence without its full stop.
    pub why: String,
    /// How to enable it, if possible.
    pub remedy: Option<String>,
}

impl Without {
    /// The pin has none; lists the pins that have.
    pub fn no_channel(pin: Pin, pins: &[Pin]) -> Self {
        let numbers: Vec<String> = pins.iter().map(|pin| pin.bcm().to_string()).collect();
        let others = match numbers.split_last() {
            None => "nor has any other pin that we know of".into(),
            Some((only, [])) => format!("GPIO {only} has"),
            Some((last, others)) => format!("GPIO {} and {last} have", others.join(", ")),
        };
        Self { why: format!("GPIO {} has no hardware PWM, {others}", pin.bcm()), remedy: None }
    }
}

/// Why a wave cannot run.
#[derive(Debug, thiserror::Error)]
pub enum PwmError {
    /// Another program or a kernel driver has the channel.
    #[error("{0}")]
    Busy(String),
    /// This channel runs for another of our pins.
    #[error("it shares {slot} with GPIO {}, which runs", .pin.bcm())]
    Shared { slot: PwmChannelId, pin: Pin },
    /// The hardware or its driver cannot make this wave.
    #[error("{0}")]
    Unsupported(String),
    /// This process may not write the files.
    #[error("{0}")]
    NoRights(String),
    /// Too fast for software.
    #[error("software makes at most {} Hz", super::software::HIGHEST_HZ)]
    TooFast,
    /// The limit of threads is reached.
    #[error("{} pins have software PWM already, which is as many as may have it at once", super::software::MOST)]
    TooMany,
    /// The line failed.
    #[error("{0}")]
    Line(#[from] line::LineError),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The hardware channels of a board.
pub trait PwmPort: Send + Sync {
    /// The channel that drives the pin now. `function` is the function in the pin's registers; `None` if they cannot be
    /// read.
    ///
    /// # Errors
    /// [`Without`], with the reason.
    fn route(&self, pin: Pin, function: Option<&line::Function>) -> Result<PwmChannelId, Without>;

    /// The pins that can have hardware PWM on this board, routed or not.
    fn pins(&self) -> Vec<Pin>;

    /// Exports a channel and starts it. Dropping the future restores the channel.
    ///
    /// # Errors
    /// [`PwmError::Busy`], [`PwmError::NoRights`], [`PwmError::Unsupported`], or the kernel's.
    fn open<'a>(
        &'a self,
        slot: &'a PwmChannelId,
        wave: Wave,
    ) -> BoxFuture<'a, Result<Box<dyn ActiveChannel>, PwmError>>;

    /// Stops a channel that an earlier process of ours left running. Returns whether it was still exported.
    ///
    /// # Errors
    /// As [`PwmPort::open`].
    fn stop_left(&self, slot: &PwmChannelId) -> Result<bool, PwmError>;
}

/// A channel in use. Dropping it stops it.
pub trait ActiveChannel: Send + Sync {
    /// Changes the running wave, without a gap.
    ///
    /// # Errors
    /// [`PwmError::Unsupported`]; the previous wave continues then.
    fn set(&self, wave: Wave) -> Result<(), PwmError>;

    /// The wave as reported by the kernel, with its rounding.
    ///
    /// # Errors
    /// The kernel's.
    fn now(&self) -> Result<Wave, PwmError>;

    /// Stops and releases the channel; the pin is low, if the hardware drives it at all. Idempotent.
    ///
    /// # Errors
    /// When the kernel refuses: the wave may continue.
    fn stop(&self) -> Result<(), PwmError>;
}

impl Wave {
    /// From the kernel's values: `None` for a period of 0, which a channel has before it is set.
    pub(super) fn read(period: u64, high: u64) -> Option<Self> {
        (period > 0)
            .then(|| Self { period: Duration::from_nanos(period), high: Duration::from_nanos(high.min(period)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_whole_nanoseconds_within_its_bounds() {
        let wave = Wave::of(50.0, 7.5).unwrap();
        assert_eq!((wave.period(), wave.high()), (Duration::from_millis(20), Duration::from_micros(1500)));
        assert_eq!((wave.frequency_hz(), wave.duty_cycle_percent()), (50.0, 7.5));
        let third = Wave::of(30_000.0, 100.0 / 3.0).unwrap();
        assert_eq!((third.period().as_nanos(), third.high().as_nanos()), (33_333, 11_111));
        assert!(Wave::of(1.0, 0.0).unwrap().is_constant() && Wave::of(50_000.0, 100.0).unwrap().is_constant());
        assert!(!Wave::of(50_000.0, 99.9).unwrap().is_constant());
        for (frequency, duty) in [
            (0.999, 50.0),
            (50_000.1, 50.0),
            (-1.0, 50.0),
            (1e308, 50.0),
            (f64::NAN, 50.0),
            (f64::INFINITY, 50.0),
            (100.0, -0.1),
            (100.0, 100.1),
            (100.0, f64::NAN),
            (100.0, f64::NEG_INFINITY),
        ] {
            assert_eq!(Wave::of(frequency, duty), None, "{frequency} Hz, {duty} %");
        }
    }
}
