//! Board, firmware and temperature, on captured trees.

mod board;
mod devices;
mod firmware;
mod i2c;
mod sensors;
mod temperature;
