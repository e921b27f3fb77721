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
mod spread;
pub mod staged;
mod tree;

pub use accept::{Accepted, IndexCriteria, accept};
pub use choose::{ReleaseChoice, Why, choose};
pub use contract::values::window;
pub use device::{DeviceId, TargetDevice};
pub use files::{INDEX, ROOTS};
pub use index::{ChannelIndex, MAX_NOTES, MAX_OFFERS, MAX_REVOKED, ReleaseEntry, Revoked, Rollout};
pub use memory::{recall, remember};
pub use publish::{IndexChange, publish, salt};
pub use seen::{AcceptedIndex, KeyWatermark};
pub use spread::{Spread, wait_for_clock};
pub use tree::{Tree, sign};
