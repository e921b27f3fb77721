//! Channels: which releases there are, for whom, and what of that is for this device (docs/channel.md).
//!
//! A channel is a folder of static files. Its index says what it holds and expires soon; its keys are online, so they decide who gets what
//! and when, and never what a release is: that takes the release's own keys.

mod accept;
mod choose;
mod device;
mod files;
mod index;
mod memory;
mod publish;
mod seen;
mod tree;

pub use accept::{Accepted, Wanted, accept};
pub use choose::{Choice, Why, choose};
pub use contract::values::window;
pub use device::{Device, DeviceId};
pub use files::{INDEX, ROOTS};
pub use index::{Index, MAX_NOTES, MAX_OFFERS, MAX_REVOKED, Offer, Revoked, Rollout};
pub use memory::{recall, remember};
pub use publish::{Change, publish, salt};
pub use seen::{Mark, Seen};
pub use tree::Tree;
