//! Board, firmware and temperature, on captured trees.

mod board;
mod firmware;
mod temperature;
