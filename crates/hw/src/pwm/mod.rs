//! PWM on a pin: by hardware if the pin has a channel and is routed to it, otherwise by software.
//!
//! rppal has PWM as well, but uses the same sysfs files (decision 104): one implementation serves every board.

mod exported;
pub mod port;
mod rights;
mod routing;
mod simulated;
pub mod software;
mod sysfs;
pub mod tally;

pub use port::{PwmChannelId, PwmError, Wave, Without};
pub use simulated::SimulatedPwm;
pub use tally::Jitter;

use crate::{
    line::{Function, Line},
    model::BoardProfile,
};
use base::os::Root;
use contract::{
    config::{GpioSettings, PwmPin},
    values::Pin,
};
use port::{ActiveChannel, PwmPort};
use software::Generator;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use sysfs::Sysfs;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All PWM of a board.
pub struct Pwm {
    hardware: Arc<dyn PwmPort>,
    /// Running channels, and the pin of each.
    held: Arc<Mutex<BTreeMap<PwmChannelId, Pin>>>,
    threads: Arc<Semaphore>,
}

impl Pwm {
    /// The PWM of a simulated board, or of the machine under `root` with this profile.
    pub fn of(
        root: &Root,
        profile: Option<&'static BoardProfile>,
        simulated: Option<&SimulatedPwm>,
        settings: &GpioSettings,
    ) -> Self {
        let configured = settings.pwm_pins().filter_map(|PwmPin { pin, chip, channel }| {
            Some((Pin::try_from(u64::from(pin)).ok()?, PwmChannelId { chip, channel }))
        });
        let hardware: Arc<dyn PwmPort> = match simulated {
            Some(pwm) => Arc::new(pwm.clone()),
            None => Arc::new(Sysfs::new(root.clone(), profile, configured.collect())),
        };
        Self { hardware, held: Arc::default(), threads: Arc::new(Semaphore::new(software::MOST)) }
    }

    /// The hardware channel that drives the pin now. `function` is the function in its registers, if they can be read.
    ///
    /// # Errors
    /// [`Without`]: why it must be software, and how to change that.
    pub fn route(&self, pin: Pin, function: Option<&Function>) -> Result<PwmChannelId, Without> {
        self.hardware.route(pin, function)
    }

    /// The pins that can have hardware PWM on this board.
    pub fn pins(&self) -> Vec<Pin> {
        self.hardware.pins()
    }

    /// Runs a wave on a hardware channel. Dropping the future restores the channel.
    ///
    /// # Errors
    /// [`PwmError::Shared`] when the channel runs for another pin; otherwise those of [`PwmPort::open`].
    pub async fn by_hardware(&self, pin: Pin, slot: PwmChannelId, wave: Wave) -> Result<RunningWave, PwmError> {
        let claim = ChannelClaim::of(&self.held, pin, slot)?;
        let channel = self.hardware.open(&claim.slot, wave).await?;
        Ok(RunningWave::Hardware { channel, claim })
    }

    /// Reserves a thread for a software wave, before the line is requested.
    ///
    /// # Errors
    /// [`PwmError::TooFast`], [`PwmError::TooMany`].
    pub fn by_software(&self, pin: Pin, wave: Wave) -> Result<ThreadPermit, PwmError> {
        software::feasible(wave)?;
        let permit = Arc::clone(&self.threads).try_acquire_owned().map_err(|_| PwmError::TooMany)?;
        Ok(ThreadPermit { pin, wave, permit })
    }

    /// Stops a channel that an earlier process of ours left running. Returns whether it was still exported. A channel
    /// in use by a pin is left alone.
    ///
    /// # Errors
    /// Those of writing its files.
    pub fn stop_left(&self, slot: &PwmChannelId) -> Result<bool, PwmError> {
        if lock(&self.held).contains_key(slot) {
            return Ok(false);
        }
        self.hardware.stop_left(slot)
    }
}

/// Permission for one more thread.
pub struct ThreadPermit {
    pin: Pin,
    wave: Wave,
    permit: OwnedSemaphorePermit,
}

impl ThreadPermit {
    /// Runs the wave on an output line.
    ///
    /// # Errors
    /// The kernel's, when no more threads can be started.
    pub fn start(self, line: Arc<dyn Line>) -> Result<RunningWave, PwmError> {
        Generator::start(self.pin, line, self.wave, self.permit).map(RunningWave::Software)
    }
}

/// A running wave. Dropping it stops it, with the pin low.
pub enum RunningWave {
    Hardware { channel: Box<dyn ActiveChannel>, claim: ChannelClaim },
    Software(Generator),
}

/// The state of a wave.
#[derive(Clone, Debug, PartialEq)]
pub struct PwmReport {
    /// The requested wave, in whole nanoseconds.
    pub wave: Wave,
    /// Measured, for software; otherwise as reported by the kernel.
    pub frequency_hz: f64,
    pub duty_cycle_percent: f64,
    pub jitter: Jitter,
    /// The channel; `None` is software.
    pub slot: Option<PwmChannelId>,
    /// What was measured, for software.
    pub measured: Option<WaveMeasurement>,
}

/// The basis of a software wave's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaveMeasurement {
    /// Whole periods measured.
    pub periods: u64,
    /// The largest delay of an edge, in microseconds.
    pub latest_edge_us: f64,
}

impl RunningWave {
    /// Changes the running wave, without a gap.
    ///
    /// # Errors
    /// [`PwmError::TooFast`] and [`PwmError::Unsupported`]: the previous wave continues then.
    pub fn set(&self, wave: Wave) -> Result<(), PwmError> {
        match self {
            Self::Hardware { channel, .. } => channel.set(wave),
            Self::Software(generator) => generator.set(wave),
        }
    }

    /// The state of the wave as of now.
    ///
    /// # Errors
    /// Why it no longer runs.
    pub fn glance(&self) -> Result<PwmReport, PwmError> {
        match self {
            Self::Hardware { channel, claim } => {
                let wave = channel.now()?;
                Ok(PwmReport {
                    wave,
                    frequency_hz: wave.frequency_hz(),
                    duty_cycle_percent: wave.duty_cycle_percent(),
                    jitter: Jitter::Hardware,
                    slot: Some(claim.slot.clone()),
                    measured: None,
                })
            }
            Self::Software(generator) => generator.glance().map(of_software),
        }
    }

    /// The same, once ten periods or 100 ms of a software wave were measured since the last change.
    ///
    /// # Errors
    /// As [`RunningWave::glance`].
    pub async fn report(&self) -> Result<PwmReport, PwmError> {
        match self {
            Self::Hardware { .. } => self.glance(),
            Self::Software(generator) => generator.measured().await.map(of_software),
        }
    }

    /// Stops it, with the pin low. The line remains held by its owner.
    ///
    /// # Errors
    /// When the kernel refuses: the wave may continue.
    pub fn stop(&self) -> Result<(), PwmError> {
        match self {
            Self::Hardware { channel, .. } => channel.stop(),
            Self::Software(generator) => {
                generator.stop();
                Ok(())
            }
        }
    }

    /// The channel; `None` is software.
    pub fn slot(&self) -> Option<&PwmChannelId> {
        match self {
            Self::Hardware { claim, .. } => Some(&claim.slot),
            Self::Software(_) => None,
        }
    }
}

fn of_software((wave, tally): (Wave, tally::EdgeStatistics)) -> PwmReport {
    let (frequency_hz, duty_cycle_percent) = tally.achieved(wave);
    let measured = WaveMeasurement { periods: tally.periods, latest_edge_us: tally.worst().as_nanos() as f64 / 1000.0 };
    PwmReport { wave, frequency_hz, duty_cycle_percent, jitter: tally.jitter(), slot: None, measured: Some(measured) }
}

/// A channel in use by us. Dropping it frees the channel.
pub struct ChannelClaim {
    slot: PwmChannelId,
    held: Arc<Mutex<BTreeMap<PwmChannelId, Pin>>>,
}

impl ChannelClaim {
    fn of(held: &Arc<Mutex<BTreeMap<PwmChannelId, Pin>>>, pin: Pin, slot: PwmChannelId) -> Result<Self, PwmError> {
        let mut channels = lock(held);
        if let Some(pin) = channels.get(&slot) {
            return Err(PwmError::Shared { pin: *pin, slot });
        }
        channels.insert(slot.clone(), pin);
        Ok(Self { slot, held: Arc::clone(held) })
    }
}

impl Drop for ChannelClaim {
    fn drop(&mut self) {
        lock(&self.held).remove(&self.slot);
    }
}

/// Each change is a single call, so a poisoned lock is safe to use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
