//! PWM on a pin: by the hardware where the pin has a channel and is routed to it, else by software.
//!
//! rppal has PWM as well, and it is the same files of sysfs underneath (decision 104): one way through them serves every board.

mod exported;
pub mod port;
mod rights;
mod routing;
mod simulated;
pub mod software;
mod sysfs;
pub mod tally;

pub use port::{Fault, Slot, Wave, Without};
pub use simulated::SimulatedPwm;
pub use tally::Jitter;

use crate::{
    line::{Function, Line},
    model::Profile,
};
use base::os::Root;
use contract::{
    config::{GpioSettings, PwmPin},
    values::Pin,
};
use port::{Channel, Port};
use software::Generator;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use sysfs::Sysfs;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All PWM of a board.
pub struct Pwm {
    hardware: Arc<dyn Port>,
    /// Channels that run, and for which pin.
    held: Arc<Mutex<BTreeMap<Slot, Pin>>>,
    threads: Arc<Semaphore>,
}

impl Pwm {
    /// That of a simulated board, or of the one under `root` with this profile.
    pub fn of(
        root: &Root,
        profile: Option<&'static Profile>,
        simulated: Option<&SimulatedPwm>,
        settings: &GpioSettings,
    ) -> Self {
        let configured = settings.pwm_pins().filter_map(|PwmPin { pin, chip, channel }| {
            Some((Pin::try_from(u64::from(pin)).ok()?, Slot { chip, channel }))
        });
        let hardware: Arc<dyn Port> = match simulated {
            Some(pwm) => Arc::new(pwm.clone()),
            None => Arc::new(Sysfs::new(root.clone(), profile, configured.collect())),
        };
        Self { hardware, held: Arc::default(), threads: Arc::new(Semaphore::new(software::MOST)) }
    }

    /// The hardware channel that drives the pin as it is now. `function` is what its registers say, where they can be read.
    ///
    /// # Errors
    /// [`Without`]: why it is software's, and what would change that.
    pub fn route(&self, pin: Pin, function: Option<&Function>) -> Result<Slot, Without> {
        self.hardware.route(pin, function)
    }

    /// The pins that can have hardware PWM on this board.
    pub fn pins(&self) -> Vec<Pin> {
        self.hardware.pins()
    }

    /// Runs a wave on a hardware channel. Dropping the future leaves the channel as it was found.
    ///
    /// # Errors
    /// [`Fault::Shared`] when the channel runs for another pin; else those of [`Port::open`].
    pub async fn by_hardware(&self, pin: Pin, slot: Slot, wave: Wave) -> Result<Running, Fault> {
        let claim = Claim::of(&self.held, pin, slot)?;
        let channel = self.hardware.open(&claim.slot, wave).await?;
        Ok(Running::Hardware { channel, claim })
    }

    /// A thread for a wave by software, before the line is touched.
    ///
    /// # Errors
    /// [`Fault::TooFast`], [`Fault::TooMany`].
    pub fn by_software(&self, pin: Pin, wave: Wave) -> Result<Permit, Fault> {
        software::feasible(wave)?;
        let permit = Arc::clone(&self.threads).try_acquire_owned().map_err(|_| Fault::TooMany)?;
        Ok(Permit { pin, wave, permit })
    }

    /// Stops a channel that an earlier process of ours left running; whether it was still taken. One that runs for a pin
    /// now is left alone.
    ///
    /// # Errors
    /// Those of writing its files.
    pub fn stop_left(&self, slot: &Slot) -> Result<bool, Fault> {
        if lock(&self.held).contains_key(slot) {
            return Ok(false);
        }
        self.hardware.stop_left(slot)
    }
}

/// Leave for one more thread.
pub struct Permit {
    pin: Pin,
    wave: Wave,
    permit: OwnedSemaphorePermit,
}

impl Permit {
    /// Runs the wave on an output line.
    ///
    /// # Errors
    /// The kernel's, when there can be no more threads.
    pub fn start(self, line: Arc<dyn Line>) -> Result<Running, Fault> {
        Generator::start(self.pin, line, self.wave, self.permit).map(Running::Software)
    }
}

/// A wave that runs. Dropped, it stops, and the pin is low.
pub enum Running {
    Hardware { channel: Box<dyn Channel>, claim: Claim },
    Software(Generator),
}

/// What a wave is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was asked for, in whole nanoseconds.
    pub wave: Wave,
    /// Measured, for software; else what the kernel says it makes.
    pub frequency_hz: f64,
    pub duty_cycle_percent: f64,
    pub jitter: Jitter,
    /// The channel; `None` is software.
    pub slot: Option<Slot>,
    /// What was measured, for software.
    pub measured: Option<Measured>,
}

/// What the figures of software PWM rest on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Whole periods.
    pub periods: u64,
    /// How late the latest edge was, in microseconds.
    pub latest_edge_us: f64,
}

impl Running {
    /// Changes the wave while it runs, without a gap.
    ///
    /// # Errors
    /// [`Fault::TooFast`] and [`Fault::Unsupported`]: the wave from before runs on then.
    pub fn set(&self, wave: Wave) -> Result<(), Fault> {
        match self {
            Self::Hardware { channel, .. } => channel.set(wave),
            Self::Software(generator) => generator.set(wave),
        }
    }

    /// The wave, as far as it is known at this moment.
    ///
    /// # Errors
    /// Why it does not run any more.
    pub fn glance(&self) -> Result<Report, Fault> {
        match self {
            Self::Hardware { channel, claim } => {
                let wave = channel.now()?;
                Ok(Report {
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

    /// The same, once ten periods or 100 ms of software's have been measured since the last change.
    ///
    /// # Errors
    /// As [`Running::glance`].
    pub async fn report(&self) -> Result<Report, Fault> {
        match self {
            Self::Hardware { .. } => self.glance(),
            Self::Software(generator) => generator.measured().await.map(of_software),
        }
    }

    /// Stops it; the pin is low. A line is still held by whoever gave it.
    ///
    /// # Errors
    /// When the kernel refuses: the wave may go on.
    pub fn stop(&self) -> Result<(), Fault> {
        match self {
            Self::Hardware { channel, .. } => channel.stop(),
            Self::Software(generator) => {
                generator.stop();
                Ok(())
            }
        }
    }

    /// The channel; `None` is software.
    pub fn slot(&self) -> Option<&Slot> {
        match self {
            Self::Hardware { claim, .. } => Some(&claim.slot),
            Self::Software(_) => None,
        }
    }
}

fn of_software((wave, tally): (Wave, tally::Tally)) -> Report {
    let (frequency_hz, duty_cycle_percent) = tally.achieved(wave);
    let measured = Measured { periods: tally.periods, latest_edge_us: tally.worst().as_nanos() as f64 / 1000.0 };
    Report { wave, frequency_hz, duty_cycle_percent, jitter: tally.jitter(), slot: None, measured: Some(measured) }
}

/// A channel of ours; dropped, it is free again.
pub struct Claim {
    slot: Slot,
    held: Arc<Mutex<BTreeMap<Slot, Pin>>>,
}

impl Claim {
    fn of(held: &Arc<Mutex<BTreeMap<Slot, Pin>>>, pin: Pin, slot: Slot) -> Result<Self, Fault> {
        let mut channels = lock(held);
        if let Some(pin) = channels.get(&slot) {
            return Err(Fault::Shared { pin: *pin, slot });
        }
        channels.insert(slot.clone(), pin);
        Ok(Self { slot, held: Arc::clone(held) })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&self.held).remove(&self.slot);
    }
}

/// Each change is one call, so a panic elsewhere leaves it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
