//! The pending asks as the agent has signed them.

use crate::{
    approvers::{ListProof, SignedAsk},
    context::Context,
    operations::Operation,
    peer::{Callers, PeerKind},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSignedRequest {
    /// Who wants to read them. Approvers at the machine need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ListProof>,
}

/// The pending asks, oldest first, for those who prove that they may answer them.
pub struct ListSigned;

impl Operation for ListSigned {
    const TAG: &'static str = "list_signed_asks";
    const ANSWER: &'static str = "signed_asks";
    const CALLERS: Callers = Callers::Carriers;
    type Request = ListSignedRequest;
    type Answer = Vec<SignedAsk>;

    async fn run(cx: &Context<'_>, request: ListSignedRequest) -> Result<Vec<SignedAsk>, ToolError> {
        match (&request.proof, cx.peer.standing) {
            (Some(proof), _) => drop(cx.approvers.prove(proof)?),
            (None, PeerKind::Approver | PeerKind::SimulatedOwner) => {}
            (None, PeerKind::Server | PeerKind::ApprovalPage) => {
                return Err(ToolError::denied("asks are shown to those who may answer them")
                    .hint("sign the device's id, boot and time with an enrolled key"));
            }
        }
        cx.approvers.signed(&cx.asks.pending())
    }
}
