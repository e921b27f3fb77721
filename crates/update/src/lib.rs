//! Updates that cannot brick: signed bundles, two slots, a trial boot, and the way back. The engine alone, without a network;
//! `README.md` beside this crate's manifest shows how to use it.
//!
//! Knows `base` and `contract`, and nobody who uses it. The server half ([`channel`], [`job`], the crate `update-client`) finds a release,
//! brings its blocks and decides nothing. The agent half ([`install`], [`slots`], [`boot`], [`health`]) verifies, writes, arms, commits and
//! rolls back; it never believes the half that has the network. What is signed is [`bundle`]'s and [`trust`]'s; where it is written is
//! [`disk`]'s.
//!
//! Nothing is used before it is verified, and the order is in the types. The running slot is never written. What happens next is a pure
//! function of the record and of what the boot chain did ([`slots`]): power may go at every write.

pub mod boot;
pub mod bundle;
pub mod channel;
pub mod disk;
pub mod firmware;
pub mod health;
pub mod install;
pub mod job;
mod place;
mod reckoning;
pub mod simulated;
pub mod slot;
pub mod slots;
pub mod status;
pub mod trust;

pub use place::Place;
pub use reckoning::{AHEAD, Reckoning};
pub use slot::Slot;
