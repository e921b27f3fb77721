//! The halt: set by the server for an admin, or by an approver at the machine; lifted at the machine only.

mod follow;
mod lift;
mod set;

pub use follow::{FollowHalt, FollowRequest, MAX_WAIT_MS};
pub use lift::{HaltLifted, LiftHalt, LiftRequest};
pub use set::{HaltAnswer, HaltRequest, SetHalt};
