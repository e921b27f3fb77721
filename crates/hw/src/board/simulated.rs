//! A simulated Raspberry Pi in memory: it has state, changes over time, and supports fault injection.

use crate::{
    camera::simulated::SimulatedCameras, gpio::SimulatedGpio, i2c::simulated::Buses, onewire::simulated::SimulatedW1,
    pwm::SimulatedPwm, sensors::simulated::SimulatedSensors, serial::simulated::SimulatedSerial,
    spi::simulated::SimulatedSpi,
};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A part of the board in which faults can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoardPart {
    Temperature,
    Throttling,
}

/// The state of a simulated board.
#[derive(Debug, Default)]
pub struct SimulatedBoard {
    /// Its lines.
    pub gpio: SimulatedGpio,
    /// Its PWM channels.
    pub pwm: SimulatedPwm,
    /// Its cameras.
    pub camera: Arc<SimulatedCameras>,
    state: Mutex<State>,
    /// Its I2C buses, and what is on them.
    pub i2c: Buses,
    /// Its SPI devices.
    pub spi: SimulatedSpi,
    /// Its 1-Wire devices.
    pub onewire: SimulatedW1,
    /// Its serial ports.
    pub serial: SimulatedSerial,
    /// Its sensors.
    pub sensors: SimulatedSensors,
}

#[derive(Debug, Default)]
struct State {
    /// `None`: it rises and falls by itself.
    celsius: Option<f64>,
    throttled: u32,
    failing: BTreeMap<BoardPart, String>,
}

/// A board on a desk: about this warm, varying a few degrees every ten minutes.
const MEAN_CELSIUS: f64 = 47.0;
const SWING_CELSIUS: f64 = 3.0;
const SWING_PERIOD: Duration = Duration::from_secs(600);

impl SimulatedBoard {
    /// The processor's temperature at `uptime`; deterministic.
    ///
    /// # Errors
    /// After [`SimulatedBoard::fail`].
    pub fn celsius(&self, uptime: Duration) -> io::Result<f64> {
        let state = self.working(BoardPart::Temperature)?;
        let phase = (uptime.as_secs_f64() / SWING_PERIOD.as_secs_f64() + 0.25).fract();
        // A triangle: a sine would be the only use of libm in the binary (0.6 MB of resident memory).
        let wave = if phase < 0.5 { 4.0 * phase - 1.0 } else { 3.0 - 4.0 * phase };
        // Millidegrees, as of a thermal zone.
        let alive = MEAN_CELSIUS + SWING_CELSIUS * wave;
        Ok(state.celsius.unwrap_or((alive * 1000.0).round() / 1000.0))
    }

    /// The firmware's throttling word, 0 until set.
    ///
    /// # Errors
    /// After [`SimulatedBoard::fail`].
    pub fn throttled(&self) -> io::Result<u32> {
        Ok(self.working(BoardPart::Throttling)?.throttled)
    }

    /// Holds the temperature at `celsius` from now on.
    pub fn set_celsius(&self, celsius: f64) {
        self.state().celsius = Some(celsius);
    }

    /// Sets the current bits (0-3). Their bits since boot (16-19) stay set, as in the firmware.
    pub fn set_throttled_now(&self, now: u32) {
        let mut state = self.state();
        let now = now & 0xf;
        state.throttled = (state.throttled & 0xf_0000) | now << 16 | now;
    }

    /// From now on `part` fails with `why`.
    pub fn fail(&self, part: BoardPart, why: &str) {
        self.state().failing.insert(part, why.to_owned());
    }

    /// `part` works again.
    pub fn heal(&self, part: BoardPart) {
        self.state().failing.remove(&part);
    }

    fn working(&self, part: BoardPart) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        match state.failing.get(&part) {
            Some(why) => Err(io::Error::other(why.clone())),
            None => Ok(state),
        }
    }

    /// Every change is a single assignment, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alive_and_the_same_for_the_same_moment() {
        let board = SimulatedBoard::default();
        let at = |seconds| board.celsius(Duration::from_secs(seconds)).unwrap();
        assert_eq!((at(0), at(150), at(450)), (47.0, 50.0, 44.0));
        assert_eq!(at(75), at(75));
        board.set_celsius(81.5);
        assert_eq!(at(75), 81.5);
    }

    #[test]
    fn what_has_happened_stays() {
        let board = SimulatedBoard::default();
        board.set_throttled_now(0b0101);
        assert_eq!(board.throttled().unwrap(), 0x5_0005);
        board.set_throttled_now(0);
        assert_eq!(board.throttled().unwrap(), 0x5_0000);
    }

    #[test]
    fn fails_when_told_and_heals() {
        let board = SimulatedBoard::default();
        board.fail(BoardPart::Temperature, "the sensor has come off");
        assert_eq!(board.celsius(Duration::ZERO).unwrap_err().to_string(), "the sensor has come off");
        assert!(board.throttled().is_ok());
        board.heal(BoardPart::Temperature);
        assert!(board.celsius(Duration::ZERO).is_ok());
    }
}
