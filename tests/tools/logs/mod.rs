//! `logs.*`.

mod journal;
mod recent;
