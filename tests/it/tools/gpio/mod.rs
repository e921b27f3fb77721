//! `gpio.*` on the simulated board: one file for what is written, for who may, for what ends a lease, and for edges.

mod edges;
mod leases;
mod pwm;
mod repeat;
mod time;
mod write;

use crate::served::{Door, Pi, Wire};
use contract::{config::Settings, values::Pin};
use hw::{gpio::SimulatedGpio, line::Level};

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

/// Waits until a pin has this level, as a meter would.
pub async fn becomes(lines: &SimulatedGpio, number: u64, level: Level) {
    crate::served::soon(async {
        while lines.level(pin(number)) != level {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Waits until nobody holds a pin.
pub async fn is_let_go(lines: &SimulatedGpio, number: u64) {
    crate::served::soon(async {
        while lines.consumer(pin(number)).is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
}

pub async fn stdio(pi: &Pi) -> Wire {
    pi.on(Door::Stdio).await
}
