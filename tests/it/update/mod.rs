//! Updates.

mod fetch;
pub mod origin;
mod sample;
