//! `system.*` on captured trees: what an answer says, what is left out, and what is refused.

mod basic_info;
mod capabilities;
mod clock;
mod devices;
mod disks;
mod health_snapshot;
mod packages;
