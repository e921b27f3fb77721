//! Updates that cannot brick: signed bundles, two slots, a trial boot, and the way back.
//!
//! Who does what: the server half ([`channel`], [`fetch`], [`job`]) finds a release, brings its blocks and decides nothing. The
//! agent half ([`install`], [`slots`], [`boot`], [`health`]) verifies, writes, arms, commits and rolls back; it never believes the half that
//! has the network. What is signed is [`bundle`]'s and [`trust`]'s; where it is written is [`disk`]'s.

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
