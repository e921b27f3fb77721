//! `logs.*`.

mod grep;
pub mod journal;
mod recent;
mod set_back;
