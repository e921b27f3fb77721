//! The hand beside the simulated board: the other handle to its state.

mod lines;
mod ports;
mod scene;
mod scope;
mod wires;

use super::Hand;
use hw::{board::Board, model::BoardKind};

/// The hand of a simulated board.
pub fn hand(board: &Board) -> Hand {
    let state = board.simulated.as_ref().expect("a simulated board");
    Hand {
        kind: BoardKind::Simulated,
        lines: Some(Box::new(lines::Simulated(state.gpio.clone()))),
        wires: Some(Box::new(wires::Simulated::new(state.i2c.clone()))),
        scene: Some(Box::new(scene::SimulatedScene::of(&state.camera))),
        scope: Some(Box::new(scope::Simulated { channels: state.pwm.clone(), lines: state.gpio.clone() })),
        spi_loop: Some((0, 0)),
        probe: Some(Box::new(ports::Thermometer(state.onewire.clone()))),
        port: Some(Box::new(ports::Modem(state.serial.clone()))),
        echo: Some(hw::serial::simulated::LOOPBACK.to_owned()),
        sensors: vec![
            ("ds18b20@28-0000075bcd15/temp", "celsius", 19.25, 19.25),
            ("pwmfan@cooling_fan/fan1", "rpm", 2400.0, 2400.0),
            ("rp1_adc@1f000c8000.adc/in1", "volts", 5.08, 5.08),
        ],
        ..Hand::empty(None)
    }
}
