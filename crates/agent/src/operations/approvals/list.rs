//! The pending asks as the agent has signed them.

use crate::{
    approvers::{ListProof, SignedAsk},
    context::Context,
    operations::Operation,
    peer::{Callers, PeerKind},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSignedRequest {
    /// Who wants to read them. Approvers at the machine need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ListProof>,
    /// Ids of the asks that the caller has. The answer then waits until others are pending, at most 25 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<String>>,
}

/// Longest wait for a change: shorter than proxies and phones keep a silent connection.
const MAX_WAIT: Duration = Duration::from_secs(25);
/// Ids in [`ListSignedRequest::known`], at most: as many asks can be pending.
const MAX_KNOWN: usize = 32;

/// The pending asks, oldest first, for those who prove that they may answer them.
pub struct ListSigned;

impl Operation for ListSigned {
    const TAG: &'static str = "list_signed_asks";
    const ANSWER: &'static str = "signed_asks";
    const CALLERS: Callers = Callers::Carriers;
    const WAITS: bool = true;
    type Request = ListSignedRequest;
    type Answer = Vec<SignedAsk>;

    fn patience(request: &ListSignedRequest) -> Duration {
        if request.known.is_some() { MAX_WAIT } else { Duration::ZERO }
    }

    async fn run(cx: &Context<'_>, request: ListSignedRequest) -> Result<Vec<SignedAsk>, ToolError> {
        match (&request.proof, cx.peer.standing) {
            (Some(proof), _) => drop(cx.approvers.prove(proof)?),
            (None, PeerKind::Approver | PeerKind::SimulatedOwner) => {}
            (None, PeerKind::Server | PeerKind::ApprovalPage | PeerKind::Routers) => {
                return Err(ToolError::denied("asks are shown to those who may answer them")
                    .hint("sign the device's id, boot and time with an enrolled key"));
            }
        }
        if let Some(known) = &request.known {
            if known.len() > MAX_KNOWN {
                return Err(ToolError::invalid(format!("known has {MAX_KNOWN} ids at most")).with("name", "known"));
            }
            cx.asks.others_than(known, MAX_WAIT).await;
        }
        cx.approvers.signed(&cx.asks.pending(), &cx.policy().approver_kinds)
    }
}
