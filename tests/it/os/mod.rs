//! Readers of the running system, on captured trees: good, missing, malformed.

mod activity;
mod any;
mod attached;
mod clock;
mod faults;
mod notify;
mod packages;
mod readers;
mod wanted;
