//! Board, firmware and temperature, on captured trees.

mod board;
mod devices;
mod firmware;
mod guests;
mod i2c;
mod sensors;
mod temperature;
