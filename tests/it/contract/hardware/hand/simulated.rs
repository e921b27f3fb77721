//! The hand beside the simulated board: the other handle to its state.

use super::Hand;
use raspi_mcp::hw::board::{Board, Kind};

/// The hand of a simulated board.
pub fn hand(_board: &Board) -> Hand {
    Hand { kind: Kind::Simulated, devices: &[], lines: None, wires: None, scene: None, scope: None }
}
