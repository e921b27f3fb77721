//! A server on the simulated board, and the board's pins.

use super::served::{Door, Pi, Wire};
use contract::{config::Settings, values::Pin};
use hw::gpio::SimulatedGpio;

/// A server whose callers may drive pins, and the board it drives them on.
pub async fn board() -> (Pi, SimulatedGpio) {
    board_with(|_| {}).await
}

pub async fn board_with(change: impl FnOnce(&mut Settings)) -> (Pi, SimulatedGpio) {
    let pi = Pi::standard(|settings| {
        settings.tools.enable.insert("gpio".into());
        settings.limits.writes_per_minute = 100_000;
        settings.limits.reads_per_minute = 100_000;
        settings.access.loopback_role = contract::meta::Role::Admin;
        change(settings);
    })
    .await;
    let lines = pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().gpio.clone();
    (pi, lines)
}

pub fn pin(number: u64) -> Pin {
    Pin::try_from(number).unwrap()
}

pub async fn stdio(pi: &Pi) -> Wire {
    pi.on(Door::Stdio).await
}
