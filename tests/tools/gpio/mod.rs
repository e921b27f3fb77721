//! `gpio.*` on the simulated board: one file for what is written, for who may, for what ends a lease, and for edges.

mod edges;
mod gone;
mod leases;
mod pwm;
mod repeat;
mod time;
mod unused;
mod write;

use crate::support::{
    gpio::{board, board_with, pin, stdio},
    served::soon,
};
use hw::{gpio::SimulatedGpio, line::Level};

/// Waits until a pin has this level, as a meter would.
pub async fn becomes(lines: &SimulatedGpio, number: u64, level: Level) {
    soon(async {
        while lines.level(pin(number)) != level {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Waits until nobody holds a pin.
pub async fn is_let_go(lines: &SimulatedGpio, number: u64) {
    soon(async {
        while lines.consumer(pin(number)).is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
}
