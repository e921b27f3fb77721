//! The token that answered a code, shown by whoever got it.

use super::{OWNER, claim_log, explained};
use crate::{claims::Claims, context::Context, operations::Operation};
use appliance::{Identity, claim::claimed_already};
use base::{error::ToolError, os::blocking};
use contract::{access::token, config::TokenSetting, meta::Role};
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use update::slots::Step;

/// That token, shown by whoever got it.
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

/// Whoever shows the token that was given out last owns the machine from now on: recorded first, in both copies, then told to the
/// server. Shown again it is the same.
///
/// # Errors
/// `permission_denied` for another token; `failed_precondition` when there is an owner, or the time is over; `unavailable` when it
/// cannot be recorded: then there is no owner. Where the error says that one copy has it, there is one, and the same token does the rest.
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
        let (system, Claims { folder, boot, turn }) = (cx.installer.system()?, &cx.claims);
        let (folder, boot, turn) = (folder.clone(), Arc::clone(boot), Arc::clone(turn));
        let log = claim_log(cx, &shown.from);
        blocking::run("claim", move |_| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let sha256 = token::hash(&shown.token);
            let (mut identity, faults) = Identity::of(system.record.ledger().state());
            if identity.claimed {
                // Recorded, and what comes after that was not done: a copy or a disk took nothing, or the answer was lost.
                if !identity.tokens.iter().any(|known| known.name == OWNER && token::same(&known.sha256.0, &sha256.0)) {
                    return Err(claimed_already());
                }
            } else {
                folder.offered(sha256, boot())?.map_err(explained)?;
                system.record.step(|state| {
                    identity = Identity::of(state).0;
                    identity.belongs_to(TokenSetting { name: OWNER.into(), sha256, role: Role::Admin, owner: None, expires: None });
                    Ok(Step::to(identity.in_state(state)))
                })?;
                log("claimed", "ok", None)?;
            }
            // Before anybody is told yes: from here on either copy may be lost.
            system.record.ledger().save_again(Identity::is_same).map_err(|error| {
                error.hint("bring the same token again; it is the owner's in any case from the next start on. The card may be worn out")
            })?;
            folder.write(&identity, &faults)?;
            Ok(Claimed { name: identity.name })
        })
        .await
    }
}
