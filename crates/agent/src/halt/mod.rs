//! The latch of the halt: while it is set, the agent refuses whatever changes the machine (docs/halt.md).
//!
//! It is kept in the agent's folder and, on a machine with two slots, in the agent-state area as well, which outlives
//! the data partition and a restored copy of it. Both are written; the machine is halted if either says so, or cannot
//! be understood (decision 296). A halt counts as soon as it is set, whether or not the card takes it; it ends only
//! once both copies say so.

mod copies;

use self::copies::Copies;
use super::{asks::Asks, clock::Clock, installer::Installer, log::OpLog, peer::Peer, power::Power};
use base::{error::ToolError, os::blocking};
use contract::halt::{HaltState, Halted, Lifted, check_reason, stops_named};
use serde_json::json;
use std::{path::Path, sync::Arc};
use tokio::sync::{Mutex, watch};

/// Who sets or lifts it, for the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HaltActor {
    /// A principal, a user's name, or the button.
    pub by: String,
    /// By what means.
    pub how: String,
}

/// What setting it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HaltSet {
    /// The halt that stands now: the first one, if there was one already.
    pub halted: Halted,
    /// Whether the machine was halted before.
    pub already: bool,
    /// The asks that it denied.
    pub denied: Vec<String>,
}

/// See the module.
pub(super) struct Latch {
    copies: Copies,
    clock: Clock,
    power: Power,
    pub(super) asks: Arc<Asks>,
    pub(super) log: Arc<OpLog>,
    state: watch::Sender<HaltState>,
    /// Held while it is set or lifted. Whether the copies lag behind the state, because the card did not take it.
    behind: Mutex<bool>,
}

impl Latch {
    /// Loads the latch of the previous agent.
    pub(super) fn load(
        folder: &Path,
        installer: &Installer,
        clock: Clock,
        power: Power,
        (asks, log): (Arc<Asks>, Arc<OpLog>),
        faults: &mut Vec<String>,
    ) -> Self {
        let copies = Copies::new(folder, installer.system().ok());
        let state = copies.load(clock(), faults);
        if let Some(halted) = &state.halted {
            tracing::warn!(target: "agent", "this machine is halted {}", halted.story());
        }
        Self { copies, clock, power, asks, log, state: watch::Sender::new(state), behind: Mutex::default() }
    }

    /// The halt that stands.
    pub(super) fn halted(&self) -> Option<Halted> {
        self.state.borrow().halted.clone()
    }

    /// Refuses a call of `tool` while it is set, if the tool is one that it stops.
    ///
    /// # Errors
    /// `failed_precondition` with who halted the machine, when, and how it ends.
    pub(super) fn check(&self, tool: &str) -> Result<(), ToolError> {
        match &self.state.borrow().halted {
            Some(halted) if stops_named(tool) => Err(halted.refusal(tool)),
            _ => Ok(()),
        }
    }

    /// Follows the state.
    pub(super) fn follow(&self) -> watch::Receiver<HaltState> {
        self.state.subscribe()
    }

    /// Halts the machine, denies every open ask, and cancels a restart or shutdown that a call ordered. A halt that stands already is left as it is.
    ///
    /// # Errors
    /// `invalid_argument` for the reason: then nothing happened. `unavailable` when it could not be written: the
    /// machine is halted all the same, until the agent restarts.
    pub(super) async fn set(
        self: &Arc<Self>,
        actor: HaltActor,
        peer: &Peer,
        reason: Option<String>,
    ) -> Result<HaltSet, ToolError> {
        reason.as_deref().map_or(Ok(()), check_reason)?;
        let mut behind = self.behind.lock().await;
        let before = self.state.borrow().clone();
        let already = before.halted.is_some();
        let halted = before.halted.unwrap_or_else(|| Halted {
            by: actor.by.clone(),
            how: actor.how.clone(),
            since_ms: (self.clock)(),
            reason: reason.clone(),
        });
        let next = HaltState { halted: Some(halted.clone()), lifted: before.lifted };
        // In force before anything is written: a card that fails must not hold it up.
        self.state.send_replace(next.clone());
        let denied = self.asks.deny_all(&actor.by, &actor.how);
        let cancelled = self.power.halted();
        let kept = if already && !*behind { Ok(()) } else { self.keep(next).await };
        *behind = kept.is_err();
        let about = json!({
            "by": actor.by, "how": actor.how, "reason": reason, "already": already, "denied": denied,
            "cancelled": cancelled.map(|scheduled| scheduled.action.name()),
        });
        self.log.write("halted", peer, about)?;
        kept.map_err(|error| {
            ToolError::unavailable(format!(
                "the machine is halted, but only until the agent restarts: {}",
                error.message
            ))
            .hint("the card may be failing: look at the kernel's log")
            .maybe_changed()
        })?;
        Ok(HaltSet { halted, already, denied })
    }

    /// Lifts the halt. The caller has judged that `actor` may: the console does so by the peer, an order that a person
    /// signed by its signature. Returns whether there was one.
    ///
    /// # Errors
    /// `unavailable` when that could not be written; the machine stays halted.
    pub(super) async fn lift(self: &Arc<Self>, actor: HaltActor, peer: &Peer) -> Result<bool, ToolError> {
        let mut behind = self.behind.lock().await;
        let before = self.state.borrow().clone();
        let Some(halted) = before.halted else { return Ok(false) };
        let lifted = Lifted { by: actor.by.clone(), how: actor.how.clone(), at_ms: (self.clock)() };
        let next = HaltState { halted: None, lifted: Some(lifted) };
        // Logged first: a halt never ends unrecorded.
        self.log.write("halt lifted", peer, json!({ "by": actor.by, "how": actor.how, "was": halted }))?;
        let kept = self.keep(next.clone()).await;
        // One copy may say so already: the next attempt writes both again.
        *behind = kept.is_err();
        kept.map_err(|error| {
            let message = format!("the machine stays halted: {}", error.message);
            error.with_message(message)
        })?;
        self.state.send_replace(next);
        Ok(true)
    }

    async fn keep(self: &Arc<Self>, state: HaltState) -> Result<(), ToolError> {
        let latch = Arc::clone(self);
        blocking::run("halt", move |_| latch.copies.write(&state)).await
    }
}
