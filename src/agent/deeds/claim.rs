//! Who owns this machine: a code that only somebody before it can know, five tries a power-on, and a token that counts once it was shown
//! (docs/claim.md says why).
//!
//! The server half carries codes and tokens here, and no tool leads to it. Everything is one after the other, under one lock, and every try is
//! spent in a file before its code is looked at: neither many requests at once nor a restart of the agent makes more of them.

use crate::{
    access::token::{self, Token},
    agent::{Agent, Peer, log::OpLog},
    appliance::{
        Code, Folder, Identity, Refusal,
        claim::{PARTING, claimed_already},
    },
    config::TokenSetting,
    error::ToolError,
    meta::Role,
    os::{blocking, uptime::Uptime},
    update::slots::Step,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// What the owner's token is called: in the audit, too.
pub const OWNER: &str = "owner";
/// An address has at most 45 letters.
const LONGEST_FROM: usize = 64;

/// The time since power-on, suspended time counted in: no clock that the network sets.
pub type BootClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// CLOCK_BOOTTIME of this machine.
pub fn boot_clock() -> BootClock {
    Arc::new(|| Uptime::Clock.now().unwrap_or_default())
}

/// A code that somebody brought.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    pub code: String,
    /// Where from, by the server's word: for the log.
    pub from: String,
}

/// The token that answers the right one.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    pub token: String,
    /// How long it may be shown, seconds.
    pub confirm_within_seconds: u64,
}

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

macro_rules! secret {
    ($($kind:ident),*) => { $(
        /// Shows no secret.
        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($kind), "(…)"))
            }
        }
    )* };
}
secret!(ClaimRequest, Offered, ShownToken);

/// The agent's part of a claim.
pub(in crate::agent) struct Claims {
    folder: Folder,
    boot: BootClock,
    turn: Arc<Mutex<()>>,
}

impl Claims {
    pub fn new(folder: Folder, boot: BootClock) -> Self {
        Self { folder, boot, turn: Arc::default() }
    }
}

impl Agent {
    /// Takes a try for a code; the right one is answered with a token that counts once it is shown.
    ///
    /// # Errors
    /// `permission_denied` for a wrong code; `invalid_argument` for what is no code, which costs no try; `resource_exhausted` after five
    /// wrong ones; `failed_precondition` when there is an owner, or the window is over; `unavailable` when something cannot be kept: then
    /// nothing was given out.
    pub(in crate::agent) async fn claim(&self, peer: &Peer, request: ClaimRequest) -> Result<Offered, ToolError> {
        let (system, Claims { folder, boot, turn }) = (self.updates.system()?, &self.claims);
        let (folder, boot, turn) = (folder.clone(), Arc::clone(boot), Arc::clone(turn));
        let log = self.claim_log(peer, &request.from);
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
                    // Only what was a try: nothing else would be written down each time.
                    if let Refusal::Wrong { .. } = refusal {
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

    /// Whoever shows the token that was given out last owns the machine from now on: recorded first, in both copies, then told to the
    /// server. Shown again it is the same.
    ///
    /// # Errors
    /// `permission_denied` for another token; `failed_precondition` when there is an owner, or the time is over; `unavailable` when it
    /// cannot be recorded: then there is no owner. Where the error says that one copy has it, there is one, and the same token does the rest.
    pub(in crate::agent) async fn confirm_claim(&self, peer: &Peer, shown: ShownToken) -> Result<Claimed, ToolError> {
        let (system, Claims { folder, boot, turn }) = (self.updates.system()?, &self.claims);
        let (folder, boot, turn) = (folder.clone(), Arc::clone(boot), Arc::clone(turn));
        let log = self.claim_log(peer, &shown.from);
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

    /// A line of this agent's log, of a claim that came from there.
    fn claim_log(
        &self,
        peer: &Peer,
        from: &str,
    ) -> impl Fn(&str, &str, Option<Refusal>) -> Result<(), ToolError> + Send + 'static {
        let (log, peer): (Arc<OpLog>, Peer) = (Arc::clone(&self.log), peer.clone());
        let from: String = from.chars().filter(|letter| !letter.is_control()).take(LONGEST_FROM).collect();
        move |what, outcome, refusal| {
            let tries_left = match refusal {
                Some(Refusal::Wrong { tries_left }) => Some(tries_left),
                _ => None,
            };
            log.write(what, &peer, json!({ "from": from, "outcome": outcome, "tries_left": tries_left }))
        }
    }
}

fn explained(refusal: Refusal) -> ToolError {
    const RESTART: &str = "take the power from the machine and give it back: it then shows a new code";
    match refusal {
        Refusal::Closed => ToolError::precondition("no claim is open on this machine").hint(RESTART),
        Refusal::Late => ToolError::precondition("the time for a claim is over").hint(RESTART),
        Refusal::Spent => ToolError::exhausted("too many wrong codes: no more are looked at").hint(RESTART),
        Refusal::Wrong { tries_left } => {
            ToolError::denied(format!("that is not the code; {tries_left} tries are left"))
                .with("tries_left", tries_left)
                .hint("is it the code of this machine, and of this start? Each start shows another one")
        }
        Refusal::Unknown => ToolError::denied("that is not the token that was given out last")
            .hint("bring the code again: it gives another token, as long as none was confirmed"),
    }
}
