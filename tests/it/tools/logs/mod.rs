//! `logs.*`.

mod journal;
