//! PWM on a leased pin: by hardware without a line of ours, by software on one.
//!
//! On Raspberry Pis requesting a pin's line makes it a plain GPIO and disconnects the PWM, so hardware is used only
//! while we do not hold the line.

use super::{
    lease::{Drive, HeldBy, Lease, Owner},
    lines::{GpioLines, LinesState},
    refusal::GpioRefusal,
};
use crate::line::{Function, Level, LineError, Take};
use crate::pwm::{self, PwmChannelId, PwmReport, RunningWave, Wave, Without};
use contract::values::Pin;
use std::{
    io,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::Instant;

/// A wave that was started or changed.
#[derive(Debug)]
pub struct Waved {
    pub report: PwmReport,
    /// Why it is a software wave.
    pub without: Option<Without>,
    /// When its lease ends unless it is used.
    pub until: Option<Instant>,
    /// What else ends it; `None` if it has ended already.
    pub held_by: Option<HeldBy>,
}

/// The next step, decided under the lock.
enum Way {
    /// It runs: on this line, or it ran before.
    Runs(Arc<RunningWave>, Option<Without>),
    Hardware(PwmChannelId),
}

impl GpioLines {
    /// Starts a wave on a pin; an unused one becomes this owner's. A running wave is changed without a gap.
    ///
    /// # Errors
    /// [`GpioRefusal`]: then the pin is unchanged, unless its line failed.
    pub async fn set_pwm(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        wave: Wave,
        lasts: Option<Duration>,
    ) -> Result<Waved, GpioRefusal> {
        let (running, without) = match self.wave_or_way(owner, pin, wave, lasts)? {
            Way::Runs(running, without) => (running, without),
            Way::Hardware(slot) => (self.by_hardware(owner, pin, slot, wave, lasts).await?, None),
        };
        self.alter(pin);
        let report = running.report().await.map_err(|fault| GpioRefusal::Pwm { fault, without: without.clone() })?;
        let state = self.state();
        let lease = state.leases.get(&pin);
        let (until, held_by) = (lease.and_then(Lease::ends), lease.map(Lease::held_by));
        Ok(Waved { report, without, until, held_by })
    }

    /// The pins that can have hardware PWM on this board.
    pub fn pwm_pins(&self) -> Vec<Pin> {
        self.pwm.pins()
    }

    /// Whether a pin is leased as PWM.
    pub fn is_wave(&self, pin: Pin) -> bool {
        matches!(self.state().leases.get(&pin), Some(Lease { drive: Drive::Pwm { .. }, .. }))
    }

    fn wave_or_way(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        wave: Wave,
        lasts: Option<Duration>,
    ) -> Result<Way, GpioRefusal> {
        let mut state = self.state();
        self.check_owner(&state, owner, pin)?;
        if let Some(Lease { drive: Drive::Pwm { wave: running, without, .. }, .. }) = state.leases.get(&pin) {
            let (running, without) = (Arc::clone(running), without.clone());
            running.set(wave).map_err(|fault| GpioRefusal::Pwm { fault, without: without.clone() })?;
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
            return Err(GpioRefusal::Alt(function));
        }
        let refused = |fault| GpioRefusal::Pwm { fault, without: without.clone() };
        let permit = self.pwm.by_software(pin, wave).map_err(refused)?;
        // The level with which the wave begins.
        let level = Level::of(!wave.high().is_zero());
        let Drive::Output { line } = self.redrive(&mut state, pin, Take::Output { level })? else {
            return Err(GpioRefusal::NotLent);
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
    fn channel(&self, state: &mut LinesState, pin: Pin) -> Result<PwmChannelId, Without> {
        let ours = state.leases.contains_key(&pin) || state.resting.contains_key(&pin);
        if ours && self.pwm.pins().contains(&pin) {
            let why = format!("GPIO {} is held as a plain GPIO here, which takes hardware PWM off the pin", pin.bcm());
            let remedy = "keep it out of gpio.safe_low and gpio.safe_high, and set its PWM before it is anything else";
            return Err(Without { why, remedy: Some(remedy.into()) });
        }
        let look = self.port_of(state).and_then(|port| port.look(pin)).ok();
        // Without registers the kernel reports only input or output, and no other function.
        let function = look
            .filter(|look| look.level.is_some() || matches!(look.function, Function::Alt(_) | Function::NoFunction));
        self.pwm.route(pin, function.map(|look| look.function).as_ref())
    }

    /// The pin's function other than GPIO, if the registers report one and we have not requested it: it must not be
    /// overwritten.
    fn other_function(&self, state: &mut LinesState, pin: Pin) -> Option<String> {
        match self.port_of(state).and_then(|port| port.look(pin)).ok()?.function {
            Function::Alt(function) => Some(function),
            _ => None,
        }
    }

    async fn by_hardware(
        self: &Arc<Self>,
        owner: &Owner,
        pin: Pin,
        slot: PwmChannelId,
        wave: Wave,
        lasts: Option<Duration>,
    ) -> Result<Arc<RunningWave>, GpioRefusal> {
        self.state().record.waves(pin, &slot).map_err(GpioRefusal::Record)?;
        let recorded = Recorded { lines: Arc::downgrade(self), pin };
        let opened = self.pwm.by_hardware(pin, slot, wave).await;
        let running = match opened {
            Ok(running) => Arc::new(running),
            // Another call is opening it.
            Err(pwm::PwmError::Shared { pin: other, .. }) if other == pin => return Err(LineError::Closed.into()),
            Err(fault) => return Err(GpioRefusal::Pwm { fault, without: None }),
        };
        let mut state = self.state();
        // While the channel was opened, another caller may have come first, or this one may have gone.
        self.check_owner(&state, owner, pin)?;
        if state.leases.contains_key(&pin) {
            return Err(LineError::Closed.into());
        }
        if let Some(watched) = state.watched.remove(&pin) {
            watched.line.close();
        }
        self.lend(&mut state, owner, pin, Drive::Pwm { wave: Arc::clone(&running), line: None, without: None }, lasts);
        self.schedule_expiry(&mut state, pin);
        recorded.keep();
        Ok(running)
    }

    /// Ends the wave of a pin. Returns whether it had one. After a software wave the pin stays its owner's output, low;
    /// after a hardware wave it is unused. Fails, with the wave still running, when another process holds the line of a
    /// hardware wave.
    pub(super) fn end_wave(&self, state: &mut LinesState, pin: Pin) -> Result<bool, LineError> {
        let Some(Lease { drive: Drive::Pwm { wave, line, .. }, .. }) = state.leases.get(&pin) else {
            return Ok(false);
        };
        let (wave, line) = (Arc::clone(wave), line.clone());
        if line.is_none() {
            let look = self.port_of(state)?.look(pin)?;
            if look.held {
                return Err(LineError::Busy { consumer: look.consumer });
            }
        }
        self.stop_wave(state, pin, &wave)?;
        match (line, state.leases.get_mut(&pin)) {
            (Some(line), Some(lease)) => lease.drive = Drive::Output { line },
            _ => drop(state.leases.remove(&pin)),
        }
        Ok(true)
    }

    /// Stops a wave, and records that its channel no longer runs.
    pub(super) fn stop_wave(&self, state: &mut LinesState, pin: Pin, wave: &RunningWave) -> Result<(), LineError> {
        wave.stop().map_err(as_line)?;
        if wave.slot().is_some() {
            state.record.let_go(pin);
        }
        Ok(())
    }

    /// Stops channels that a killed server left running. Returns the pins that were stopped.
    pub(super) fn stop_left(&self, state: &mut LinesState, left: &[(Pin, PwmChannelId)]) -> Vec<Pin> {
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

/// The channel is in the record. Dropping this removes it.
struct Recorded {
    lines: Weak<GpioLines>,
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

/// A fault of a wave as a fault of its line.
pub(super) fn as_line(fault: pwm::PwmError) -> LineError {
    match fault {
        pwm::PwmError::Line(fault) => fault,
        pwm::PwmError::Io(error) => LineError::Io(error),
        other => LineError::Io(io::Error::other(other.to_string())),
    }
}
