//! Checks a claim code.

use super::{claim_log, explained};
use crate::{
    approvers::{NewApprover, Vouched},
    claims::ClaimService,
    context::Context,
    operations::Operation,
};
use appliance::{
    ClaimRefusal, Code, Identity,
    claim::{PARTING, claimed_already},
};
use base::{error::ToolError, os::blocking};
use contract::access::token::Token;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

/// A claim code from a client.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    pub code: String,
    /// The client's address as the server reports it, for the log.
    pub from: String,
    /// The claiming person's approver, who then is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<NewApprover>,
}

/// The token that is returned for the right code.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    pub token: String,
    /// Seconds within which the token must be confirmed.
    pub confirm_within_seconds: u64,
    /// The device's signature over the code and the approver's key, unless the device has no readable key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Vouched>,
}

/// Uses one attempt for a code. The right one is answered with a token, which becomes valid once it is confirmed.
///
/// # Errors
/// `permission_denied` for a wrong code; `invalid_argument` for what is no code or no approver, which uses no attempt;
/// `resource_exhausted` after five wrong ones; `failed_precondition` when there is an owner, or the window is over;
/// `unavailable` when something cannot be stored: then no token was issued.
pub struct Claim;

impl Operation for Claim {
    const TAG: &'static str = "claim";
    const ANSWER: &'static str = "offered";
    const WAITS: bool = true;
    type Request = ClaimRequest;
    type Answer = Offered;

    fn patience(_request: &ClaimRequest) -> Duration {
        crate::operations::CARD
    }

    async fn run(cx: &Context<'_>, request: ClaimRequest) -> Result<Offered, ToolError> {
        let (system, ClaimService { folder, boot, turn }) = (cx.installer.system()?, &cx.claims);
        let (folder, boot, turn) = (folder.clone(), Arc::clone(boot), Arc::clone(turn));
        let (log, agent) = (claim_log(cx, &request.from), Arc::clone(cx.agent));
        blocking::run("claim", move |_| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            if Identity::of(system.record.ledger().state()).0.claimed {
                return Err(claimed_already());
            }
            let code = Code::parse(&request.code)?;
            let (approver, key) = match request.approver {
                None => (None, None),
                Some(new) => {
                    new.clone().checked(0, "")?;
                    (serde_json::to_value(&new).ok(), Some(new.key))
                }
            };
            // Given out for the right code only.
            let device = match agent.approvers.vouch(&code.to_string(), key.as_deref()) {
                Err(error) if key.is_some() => return Err(error),
                device => device.ok(),
            };
            let (token, now) = (Token::mint()?, boot());
            let until = match folder.attempt(&code, token.sha256(), approver, now)? {
                Ok(until) => until,
                Err(refusal) => {
                    // Only real attempts are logged; the number of others has no bound.
                    if let ClaimRefusal::Wrong { .. } = refusal {
                        log("claim", "wrong", Some(refusal))?;
                    }
                    return Err(explained(refusal));
                }
            };
            log("claim", "offered", None)?;
            let confirm_within_seconds = until.saturating_add(PARTING).saturating_sub(now).as_secs();
            Ok(Offered { token: token.reveal().to_owned(), confirm_within_seconds, device })
        })
        .await
    }
}
