//! Readers of the running system, on captured trees: good, missing, malformed.

mod activity;
mod clock;
mod faults;
mod readers;
