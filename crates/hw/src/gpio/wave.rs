//! PWM on a pin that is lent: by hardware without a line of ours, by software on one.
//!
//! To take a pin's line makes it a plain GPIO on Raspberry Pis and takes the PWM off it, so hardware is used only while we hold
//! no line of the pin.

use super::{
    lease::{Drive, HeldBy, Lease, Owner},
    lines::{Lines, State},
    refusal::Refusal,
};
use crate::line::{Fault, Function, Level, Take};
use crate::pwm::{self, Report, Running, Slot, Wave, Without};
use contract::values::Pin;
use std::{
    io,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::Instant;

/// A wave that was begun or changed.
#[derive(Debug)]
pub struct Waved {
    pub report: Report,
    /// Why it is software's.
    pub without: Option<Without>,
    /// When its lease ends unless it is used.
    pub until: Option<Instant>,
    /// What else ends it; `None` where it has ended already.
    pub held_by: Option<HeldBy>,
}

/// What is to be done, decided under the lock.
enum Way {
    /// It runs: on this line, or it ran before.
    Runs(Arc<Running>, Option<Without>),
    Hardware(Slot),
}

impl Lines {
    /// Makes a wave on a pin; one that nobody has becomes this owner's. A wave that runs is changed without a gap.
    ///
    /// # Errors
    /// [`Refusal`]: then the pin is as it was, unless its line broke.
    pub async fn set_pwm(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        wave: Wave,
        lasts: Option<Duration>,
    ) -> Result<Waved, Refusal> {
        let (running, without) = match self.wave_or_way(owner, pin, wave, lasts)? {
            Way::Runs(running, without) => (running, without),
            Way::Hardware(slot) => (self.by_hardware(owner, pin, slot, wave, lasts).await?, None),
        };
        self.alter(pin);
        let report = running.report().await.map_err(|fault| Refusal::Pwm { fault, without: without.clone() })?;
        let state = self.state();
        let lease = state.leases.get(&pin);
        let (until, held_by) = (lease.and_then(Lease::ends), lease.map(Lease::held_by));
        Ok(Waved { report, without, until, held_by })
    }

    /// The pins that can have hardware PWM on this board.
    pub fn pwm_pins(&self) -> Vec<Pin> {
        self.pwm.pins()
    }

    /// Whether a pin is lent as PWM.
    pub fn is_wave(&self, pin: Pin) -> bool {
        matches!(self.state().leases.get(&pin), Some(Lease { drive: Drive::Pwm { .. }, .. }))
    }

    fn wave_or_way(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        wave: Wave,
        lasts: Option<Duration>,
    ) -> Result<Way, Refusal> {
        let mut state = self.state();
        self.check_owner(&state, owner, pin)?;
        if let Some(Lease { drive: Drive::Pwm { wave: running, without, .. }, .. }) = state.leases.get(&pin) {
            let (running, without) = (Arc::clone(running), without.clone());
            running.set(wave).map_err(|fault| Refusal::Pwm { fault, without: without.clone() })?;
            if let Some(lease) = state.leases.get_mut(&pin) {
                lease.used(owner, lasts);
            }
            self.schedule_expiry(&mut state, pin);
            return Ok(Way::Runs(running, without));
        }
        let without = match self.channel(&mut state, pin) {
            Ok(slot) => return Ok(Way::Hardware(slot)),
            Err(without) => Some(without),
        };
        if let Some(function) = self.other_function(&mut state, pin) {
            return Err(Refusal::Alt(function));
        }
        let refused = |fault| Refusal::Pwm { fault, without: without.clone() };
        let permit = self.pwm.by_software(pin, wave).map_err(refused)?;
        // Low or high, as the wave begins.
        let level = Level::of(!wave.high().is_zero());
        let Drive::Output { line } = self.redrive(&mut state, pin, Take::Output { level })? else {
            return Err(Refusal::NotLent);
        };
        match permit.start(Arc::clone(&line)) {
            Ok(running) => {
                let running = Arc::new(running);
                let drive = Drive::Pwm { wave: Arc::clone(&running), line: Some(line), without: without.clone() };
                self.lend(&mut state, owner, pin, drive, lasts);
                self.schedule_expiry(&mut state, pin);
                Ok(Way::Runs(running, without))
            }
            Err(fault) => {
                self.lend(&mut state, owner, pin, Drive::Output { line }, lasts);
                if let Err(fault) = self.settle(&mut state, pin) {
                    tracing::warn!(pin = pin.bcm(), %fault, "is not in its safe state");
                }
                Err(refused(fault))
            }
        }
    }

    /// The channel that drives the pin now, unless we hold its line.
    fn channel(&self, state: &mut State, pin: Pin) -> Result<Slot, Without> {
        let ours = state.leases.contains_key(&pin) || state.resting.contains_key(&pin);
        if ours && self.pwm.pins().contains(&pin) {
            let why = format!("GPIO {} is held as a plain GPIO here, which takes hardware PWM off the pin", pin.bcm());
            let remedy = "keep it out of gpio.safe_low and gpio.safe_high, and set its PWM before it is anything else";
            return Err(Without { why, remedy: Some(remedy.into()) });
        }
        let look = self.port_of(state).and_then(|port| port.look(pin)).ok();
        // Without registers the kernel tells input from output, and nothing of other functions.
        let function = look.filter(|look| look.level.is_some() || matches!(look.function, Function::Alt(_)));
        self.pwm.route(pin, function.map(|look| look.function).as_ref())
    }

    /// What the pin is beside GPIO, as far as its registers tell and we have not taken it: not to be written over.
    fn other_function(&self, state: &mut State, pin: Pin) -> Option<String> {
        match self.port_of(state).and_then(|port| port.look(pin)).ok()?.function {
            Function::Alt(function) => Some(function),
            _ => None,
        }
    }

    async fn by_hardware(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        slot: Slot,
        wave: Wave,
        lasts: Option<Duration>,
    ) -> Result<Arc<Running>, Refusal> {
        self.state().record.waves(pin, &slot).map_err(Refusal::Record)?;
        let recorded = Recorded { lines: Arc::downgrade(self), pin };
        let opened = self.pwm.by_hardware(pin, slot, wave).await;
        let running = match opened {
            Ok(running) => Arc::new(running),
            // Another call opens it at this moment.
            Err(pwm::Fault::Shared { pin: other, .. }) if other == pin => return Err(Fault::Closed.into()),
            Err(fault) => return Err(Refusal::Pwm { fault, without: None }),
        };
        let mut state = self.state();
        // Somebody may have come first while the channel was opened, or this caller have gone.
        self.check_owner(&state, owner, pin)?;
        if state.leases.contains_key(&pin) {
            return Err(Fault::Closed.into());
        }
        if let Some(watched) = state.watched.remove(&pin) {
            watched.line.close();
        }
        self.lend(&mut state, owner, pin, Drive::Pwm { wave: Arc::clone(&running), line: None, without: None }, lasts);
        self.schedule_expiry(&mut state, pin);
        recorded.keep();
        Ok(running)
    }

    /// Ends the wave of a pin, if it has one; whether it had. By software the pin stays an output of its owner's, low; by hardware it
    /// is nobody's then, and never when its line could not be had in exchange.
    pub(super) fn end_wave(&self, state: &mut State, pin: Pin) -> Result<bool, Fault> {
        let Some(Lease { drive: Drive::Pwm { wave, line, .. }, .. }) = state.leases.get(&pin) else {
            return Ok(false);
        };
        let (wave, line) = (Arc::clone(wave), line.clone());
        if line.is_none() {
            let look = self.port_of(state)?.look(pin)?;
            if look.held {
                return Err(Fault::Busy { consumer: look.consumer });
            }
        }
        self.stop_wave(state, pin, &wave)?;
        match (line, state.leases.get_mut(&pin)) {
            (Some(line), Some(lease)) => lease.drive = Drive::Output { line },
            _ => drop(state.leases.remove(&pin)),
        }
        Ok(true)
    }

    /// Stops a wave, and notes that a channel runs no more.
    pub(super) fn stop_wave(&self, state: &mut State, pin: Pin, wave: &Running) -> Result<(), Fault> {
        wave.stop().map_err(as_line)?;
        if wave.slot().is_some() {
            state.record.let_go(pin);
        }
        Ok(())
    }

    /// Stops channels that a server before let run, because it was killed. Returns the pins of those that run no more.
    pub(super) fn stop_left(&self, state: &mut State, left: &[(Pin, Slot)]) -> Vec<Pin> {
        let mut stopped = Vec::new();
        for (pin, slot) in left {
            match self.pwm.stop_left(slot) {
                Ok(ran) => {
                    if ran {
                        tracing::warn!(pin = pin.bcm(), %slot, "PWM went on after a server that was killed; it is stopped now");
                    } else {
                        tracing::info!(pin = pin.bcm(), %slot, "PWM of a server that was killed had ended");
                    }
                    state.record.let_go(*pin);
                    stopped.push(*pin);
                }
                Err(fault) => {
                    tracing::error!(pin = pin.bcm(), %slot, %fault, "PWM of a server that was killed may go on");
                }
            }
        }
        stopped
    }
}

/// The channel is in the record. Dropped, it is not any more.
struct Recorded {
    lines: Weak<Lines>,
    pin: Pin,
}

impl Recorded {
    fn keep(mut self) {
        self.lines = Weak::new();
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Some(lines) = self.lines.upgrade() {
            lines.state().record.let_go(self.pin);
        }
    }
}

/// A fault of a wave, as one of its line.
pub(super) fn as_line(fault: pwm::Fault) -> Fault {
    match fault {
        pwm::Fault::Line(fault) => fault,
        pwm::Fault::Io(error) => Fault::Io(error),
        other => Fault::Io(io::Error::other(other.to_string())),
    }
}
