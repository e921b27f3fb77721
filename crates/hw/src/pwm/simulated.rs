//! The simulated PWM: the two channels of a Raspberry Pi 4 in memory, each on two pins, routed by default.

use super::port::{ActiveChannel, PwmChannelId, PwmError, PwmPort, Wave, Without};
use crate::line::Function;
use contract::values::Pin;
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const PINS: [(u64, u32); 4] = [(12, 0), (13, 1), (18, 0), (19, 1)];
const CHIP: &str = "simulated.pwm";

/// The channels of a simulated board. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SimulatedPwm(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    channels: BTreeMap<u32, Taken>,
    /// Pins that are not PWM now.
    unrouted: BTreeSet<Pin>,
    failing: Option<String>,
}

#[derive(Debug)]
struct Taken {
    /// `None`: used by another program.
    wave: Option<Wave>,
}

impl SimulatedPwm {
    /// The channel's current wave, as an oscilloscope would show on its pins.
    pub fn wave(&self, channel: u32) -> Option<Wave> {
        self.state().channels.get(&channel)?.wave
    }

    /// Number of exported channels.
    pub fn taken(&self) -> usize {
        self.state().channels.len()
    }

    /// Makes the pin PWM, or a plain GPIO as without an overlay.
    pub fn route_to(&self, pin: Pin, routed: bool) {
        let mut state = self.state();
        if routed {
            state.unrouted.remove(&pin)
        } else {
            state.unrouted.insert(pin)
        };
    }

    /// Lets another program take the channel or, with `false`, release it.
    pub fn take_away(&self, channel: u32, taken: bool) {
        let mut state = self.state();
        if taken {
            state.channels.insert(channel, Taken { wave: None });
        } else {
            state.channels.remove(&channel);
        }
    }

    /// From now on every access fails with `why`; `None` clears the fault.
    pub fn fail(&self, why: Option<&str>) {
        self.state().failing = why.map(str::to_owned);
    }

    fn working(&self) -> Result<MutexGuard<'_, State>, PwmError> {
        let state = self.state();
        match &state.failing {
            Some(why) => Err(PwmError::Io(io::Error::other(why.clone()))),
            None => Ok(state),
        }
    }

    /// Every change is completed or not begun, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, channel: u32, wave: Wave) -> Result<Taking, PwmError> {
        let mut state = self.working()?;
        if state.channels.contains_key(&channel) {
            return Err(PwmError::Busy("another program has exported it".into()));
        }
        state.channels.insert(channel, Taken { wave: Some(wave) });
        Ok(Taking { board: self.clone(), channel })
    }
}

impl PwmPort for SimulatedPwm {
    fn route(&self, pin: Pin, _: Option<&Function>) -> Result<PwmChannelId, Without> {
        let found = PINS.iter().find(|(number, _)| *number == u64::from(pin.bcm()));
        let Some((_, channel)) = found else {
            return Err(Without::no_channel(pin, &self.pins()));
        };
        if self.state().unrouted.contains(&pin) {
            let why = format!("GPIO {} is a plain GPIO now and not PWM{channel}", pin.bcm());
            return Err(Without { why, remedy: Some("route it by the board's handle".into()) });
        }
        Ok(PwmChannelId { chip: CHIP.into(), channel: *channel })
    }

    fn pins(&self) -> Vec<Pin> {
        PINS.iter().filter_map(|(number, _)| Pin::try_from(*number).ok()).collect()
    }

    fn open<'a>(
        &'a self,
        slot: &'a PwmChannelId,
        wave: Wave,
    ) -> BoxFuture<'a, Result<Box<dyn ActiveChannel>, PwmError>> {
        let taken = self.take(slot.channel, wave).map(|taken| Box::new(taken) as Box<dyn ActiveChannel>);
        std::future::ready(taken).boxed()
    }

    fn stop_left(&self, slot: &PwmChannelId) -> Result<bool, PwmError> {
        Ok(self.working()?.channels.remove(&slot.channel).is_some())
    }
}

struct Taking {
    board: SimulatedPwm,
    channel: u32,
}

impl ActiveChannel for Taking {
    fn set(&self, wave: Wave) -> Result<(), PwmError> {
        let mut state = self.board.working()?;
        state.channels.insert(self.channel, Taken { wave: Some(wave) });
        Ok(())
    }

    fn now(&self) -> Result<Wave, PwmError> {
        let state = self.board.working()?;
        let wave = state.channels.get(&self.channel).and_then(|taken| taken.wave);
        wave.ok_or_else(|| PwmError::Unsupported("the channel was given back".into()))
    }

    fn stop(&self) -> Result<(), PwmError> {
        self.board.working()?.channels.remove(&self.channel);
        Ok(())
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        // On an injected fault the channel keeps running, as a real one might.
        let _ = self.stop();
    }
}
