//! Operations of a device in a fleet (docs/fleet.md).

mod enrol;
mod follow;
mod log;
pub(super) mod member;
mod status;

pub use enrol::{MembershipRequest, MembershipWish, SignEnrolment};
pub use follow::{FollowOrder, OrderFollowed, OrderMessage};
pub use log::{LogRequest, SignLog};
pub use status::{SignStatus, SignedMessage, StatusParts};
