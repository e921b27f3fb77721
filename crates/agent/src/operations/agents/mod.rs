//! The agents of `[[agents]]`: their tools' calls, their start, and what the owner accepts of them.

mod accept;
mod attach;
mod failed;
mod follow;
mod offer;
mod plan;
mod run;
mod tool;

pub use accept::{AcceptAgent, AcceptRequest};
pub(crate) use attach::take_stream;
pub use attach::{AttachAgent, AttachRequest};
pub use failed::{AgentFailed, FailedRequest};
pub use follow::{FollowAgents, FollowRequest};
pub use offer::{OfferRequest, OfferTool};
pub(crate) use plan::files_of;
pub use run::{AgentRequest, RunAgent};
pub use tool::{AgentToolRequest, RunAgentTool};

use crate::peer::{Peer, PeerKind};

/// Whether `peer` is root, or plays it on a simulated board.
fn is_owner(peer: &Peer) -> bool {
    peer.is_root() || peer.standing == PeerKind::SimulatedOwner
}
