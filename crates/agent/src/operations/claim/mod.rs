//! Claiming this machine: a code that only a person at the device can see, five attempts per power-on, and a token that
//! becomes valid once it is confirmed (docs/claim.md gives the reasons).
//!
//! The server half forwards codes and tokens; no tool does. All checks are sequential, under one lock, and every
//! attempt is counted in a file before its code is checked, so neither parallel requests nor restarts of the agent gain
//! attempts.

mod bring;
mod confirm;

pub use bring::{Claim, ClaimRequest, Offered};
pub use confirm::{Claimed, ConfirmClaim, ShownToken};

use crate::{context::Context, log::OpLog, peer::Peer};
use appliance::ClaimRefusal;
use base::error::ToolError;
use contract::{
    config::{Sha256, TokenSetting},
    meta::Role,
};
use serde_json::json;
use std::{fmt, sync::Arc};

/// Name of the owner's token, also in the audit.
pub const OWNER: &str = "owner";
/// The entry of the owner's token, by its hash.
pub fn owner_token(sha256: Sha256) -> TokenSetting {
    TokenSetting { name: OWNER.into(), sha256, role: Role::Admin, owner: None, expires: None, devices: Vec::new() }
}

/// An address has at most 45 characters.
const LONGEST_FROM: usize = 64;

macro_rules! secret {
    ($($kind:ident),*) => { $(
        /// Does not print the secret.
        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($kind), "(…)"))
            }
        }
    )* };
}
secret!(ClaimRequest, Offered, ShownToken);

/// Writes a line about a claim from that address to the agent's log.
pub(super) fn claim_log(
    cx: &Context<'_>,
    from: &str,
) -> impl Fn(&str, &str, Option<ClaimRefusal>) -> Result<(), ToolError> + Send + 'static {
    let (log, peer): (Arc<OpLog>, Peer) = (Arc::clone(&cx.log), cx.peer.clone());
    let from: String = from.chars().filter(|letter| !letter.is_control()).take(LONGEST_FROM).collect();
    move |what, outcome, refusal| {
        let tries_left = match refusal {
            Some(ClaimRefusal::Wrong { tries_left }) => Some(tries_left),
            _ => None,
        };
        log.write(what, &peer, json!({ "from": from, "outcome": outcome, "tries_left": tries_left }))
    }
}

pub(super) fn explained(refusal: ClaimRefusal) -> ToolError {
    const RESTART: &str = "take the power from the machine and give it back: it then shows a new code";
    match refusal {
        ClaimRefusal::Closed => ToolError::precondition("no claim is open on this machine").hint(RESTART),
        ClaimRefusal::Late => ToolError::precondition("the time for a claim is over").hint(RESTART),
        ClaimRefusal::Spent => ToolError::exhausted("too many wrong codes: no more are looked at").hint(RESTART),
        ClaimRefusal::Wrong { tries_left } => {
            ToolError::denied(format!("that is not the code; {tries_left} tries are left"))
                .with("tries_left", tries_left)
                .hint("is it the code of this machine, and of this start? Each start shows another one")
        }
        ClaimRefusal::Unknown => ToolError::denied("that is not the token that was given out last")
            .hint("bring the code again: it gives another token, as long as none was confirmed"),
    }
}
