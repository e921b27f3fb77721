//! Operations of a device in a fleet (docs/fleet.md).

mod enrol;
mod follow;
pub(super) mod member;
mod status;

pub use enrol::{MembershipRequest, MembershipWish, SignEnrolment};
pub use follow::{FollowOrder, OrderFollowed, OrderMessage};
pub use status::{SignStatus, SignedStatus, StatusParts};
