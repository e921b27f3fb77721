//! Confirms a claim: the client that received the token presents it.

use super::{OWNER, claim_log, explained, owner_token};
use crate::{
    claims::{ClaimService, settle_approvers},
    context::Context,
    operations::Operation,
};
use appliance::{FirstApprovers, Identity, claim::claimed_already};
use base::{error::ToolError, os::blocking};
use contract::access::token;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use update::slots::Step;

/// The token, presented by the client that received it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownToken {
    pub token: String,
    pub from: String,
}

/// The machine has an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claimed {
    /// The machine's name, if it has one.
    pub name: Option<String>,
}

/// The client that presents the token issued last owns the machine from now on, and the approver that came with its code
/// replaces all others. The owner is recorded in both copies first, then reported to the server. Idempotent.
///
/// # Errors
/// `permission_denied` for another token; `failed_precondition` when there is an owner, or the time is over;
/// `unavailable` when it cannot be recorded: then there is no owner. If the error says that one copy was written, there
/// is an owner, and the same token completes the rest.
pub struct ConfirmClaim;

impl Operation for ConfirmClaim {
    const TAG: &'static str = "confirm_claim";
    const ANSWER: &'static str = "claimed";
    const WAITS: bool = true;
    type Request = ShownToken;
    type Answer = Claimed;

    fn patience(_request: &ShownToken) -> Duration {
        crate::operations::CARD
    }

    async fn run(cx: &Context<'_>, shown: ShownToken) -> Result<Claimed, ToolError> {
        let (system, ClaimService { folder, boot, turn }) = (cx.installer.system()?, &cx.claims);
        let (folder, boot, turn) = (folder.clone(), Arc::clone(boot), Arc::clone(turn));
        let (log, agent, peer) = (claim_log(cx, &shown.from), Arc::clone(cx.agent), cx.peer.clone());
        blocking::run("claim", move |_| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let sha256 = token::hash(&shown.token);
            let (mut identity, faults) = Identity::of(system.record.ledger().state());
            if identity.claimed {
                // A repeated confirmation: the owner is recorded, but a copy was not written or the answer was lost.
                if !identity.tokens.iter().any(|known| known.name == OWNER && token::same(&known.sha256.0, &sha256.0)) {
                    return Err(claimed_already());
                }
            } else {
                let approver = folder.offered(sha256, boot())?.map_err(explained)?;
                let replaces = approver.is_some() || !agent.approvers.is_empty();
                let first = FirstApprovers { list: approver.into_iter().collect(), ..FirstApprovers::of("the claim") };
                system.record.step(|state| {
                    identity = Identity::of(state).0;
                    identity.belongs_to(owner_token(sha256));
                    // Recorded with the owner, so that no power cut parts them.
                    let next = Identity { approvers: replaces.then_some(first), ..identity.clone() };
                    Ok(Step::to(next.in_state(state)))
                })?;
                log("claimed", "ok", None)?;
            }
            settle_approvers(&agent.installer, &agent.approvers, &agent.log, &peer)?;
            // Saved before the answer, so that either copy may be lost afterwards.
            system.record.ledger().save_again(Identity::is_same).map_err(|error| {
                error.hint("bring the same token again; it is the owner's in any case from the next start on. The card may be worn out")
            })?;
            folder.write(&identity, &faults)?;
            Ok(Claimed { name: identity.name })
        })
        .await
    }
}
