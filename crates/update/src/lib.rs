//! Updates that cannot brick: signed bundles, two slots, a trial boot, and rollback. The engine alone, without a
//! network; `README.md` beside this crate's manifest shows how to use it.
//!
//! Depends on `base` and `contract` only. The server half ([`channel`], [`job`], the crate `update-client`) finds a
//! release and delivers its blocks, but decides nothing. The agent half ([`install`], [`slots`], [`boot`], [`health`])
//! verifies, writes, arms, commits and rolls back, and does not trust the half that has the network. [`bundle`] and
//! [`trust`] define what is signed, [`disk`] where it is written.
//!
//! Nothing is used before it is verified, which the types enforce. The running slot is never written. The next step is
//! a pure function of the record and of the boot chain's evidence ([`slots`]), so a power cut at any write is safe.

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
mod steps;
pub mod trust;

pub use place::FileLocation;
pub use reckoning::{AHEAD, Reckoning};
pub use slot::Slot;
