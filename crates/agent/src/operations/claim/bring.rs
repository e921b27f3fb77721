//! Checks a claim code.

use super::{claim_log, explained};
use crate::{claims::ClaimService, context::Context, operations::Operation};
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
}

/// The token that is returned for the right code.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    pub token: String,
    /// Seconds within which the token must be confirmed.
    pub confirm_within_seconds: u64,
}

/// Uses one attempt for a code. The right one is answered with a token, which becomes valid once it is confirmed.
///
/// # Errors
/// `permission_denied` for a wrong code; `invalid_argument` for something that is not a code, which uses no attempt;
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
        let log = claim_log(cx, &request.from);
        blocking::run("claim", move |_| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            if Identity::of(system.record.ledger().state()).0.claimed {
                return Err(claimed_already());
            }
            let code = Code::parse(&request.code)?;
            let (token, now) = (Token::mint()?, boot());
            let until = match folder.attempt(&code, token.sha256(), now)? {
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
            Ok(Offered { token: token.reveal().to_owned(), confirm_within_seconds })
        })
        .await
    }
}
