//! Channels: the available releases, and the selection for this device (docs/channel.md).
//!
//! A channel is a folder of static files. Its index lists the releases and expires soon. Its keys are online, so they
//! decide who gets which release and when, but not what a release is: that takes the release keys.

mod accept;
mod choose;
mod device;
mod files;
mod index;
mod memory;
mod publish;
mod seen;
mod tree;

pub use accept::{Accepted, IndexCriteria, accept};
pub use choose::{Choice, Why, choose};
pub use contract::values::window;
pub use device::{Device, DeviceId};
pub use files::{INDEX, ROOTS};
pub use index::{Index, MAX_NOTES, MAX_OFFERS, MAX_REVOKED, Offer, Revoked, Rollout};
pub use memory::{recall, remember};
pub use publish::{Change, publish, salt};
pub use seen::{Mark, Seen};
pub use tree::Tree;
