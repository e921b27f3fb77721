//! Signed asks, answers and orders, and the approvers whose keys count.

mod add;
mod answer;
mod device;
mod enroll;
mod list;
mod list_approvers;
mod order;
mod revoke;
mod token_revoked;

pub use add::AddApprover;
pub use answer::AnswerSigned;
pub use device::{DescribeDevice, Device, DeviceRequest};
pub use enroll::{EnrollApprover, EnrollRequest, Enrolling};
pub use list::{ListSigned, ListSignedRequest};
pub use list_approvers::{ApproversRequest, ListApprovers};
pub use order::PerformOrder;
pub use revoke::{RevokeApprover, RevokeRequest};
pub use token_revoked::{RecordRevokedTokens, RevocationKept, TokensRevoked};

use crate::context::Context;
use base::error::ToolError;

/// Refuses peers that are not root, nor the user of a simulated board: a key that counts for everything is given by the
/// machine's owner only.
fn demand_root(cx: &Context<'_>, operation: &str) -> Result<(), ToolError> {
    let peer = cx.peer;
    if peer.is_root() || peer.standing == crate::peer::PeerKind::SimulatedOwner {
        return Ok(());
    }
    Err(ToolError::denied(format!("{operation} needs root; {} is not", peer.name))
        .with("uid", peer.uid)
        .hint("run `raspi-mcp approver` as root on the device"))
}
