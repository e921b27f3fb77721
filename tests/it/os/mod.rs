//! Readers of the running system, on captured trees: good, missing, malformed.

mod activity;
mod any;
mod clock;
mod faults;
mod notify;
mod readers;
mod wanted;
