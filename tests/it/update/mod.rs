//! Updates.

mod health;
mod job;
