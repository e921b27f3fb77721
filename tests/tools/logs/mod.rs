//! `logs.*`.

pub mod journal;
mod recent;
