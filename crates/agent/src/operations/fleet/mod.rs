//! Operations of a device in a fleet (docs/fleet.md).

mod follow;
mod status;

pub use follow::{FollowOrder, OrderFollowed, OrderMessage};
pub use status::{SignStatus, SignedStatus, StatusParts};
