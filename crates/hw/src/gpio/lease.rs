//! The lease of a line to a caller.

use super::{edge_hub::EdgeHub, refusal::GpioRefusal, repeat::Repetition};
use crate::line::{Level, Line, Pull};
use crate::pwm;
use contract::access::{caller::Caller, presence::Presence};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The holder of a lease: a principal on one of its connections; over HTTP the principal alone. Callers with the same
/// configured owner (`access.owners`, `owner` of a token) count as one, on any connection.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The credential that requested it.
    pub principal: String,
    /// The name of its owner, if one is configured.
    pub name: Option<String>,
    pub presence: Option<Presence>,
    /// Ends when the credential is revoked or expires.
    pub pass: Option<Presence>,
}

/// What ends a lease: the connection, time without use, or the end of what was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum HeldBy {
    // The end of the connection.
    Connection,
    // Time without use, though its caller may have gone.
    Lease,
    // The end of what was ordered, though its caller may have gone.
    Schedule,
}

impl Owner {
    pub fn of(caller: &Caller) -> Self {
        Self {
            principal: caller.principal.clone(),
            name: caller.owner.clone(),
            presence: caller.presence.as_ref().map(Presence::held),
            pass: caller.pass.clone(),
        }
    }

    pub fn is_gone(&self) -> bool {
        self.presence.as_ref().is_some_and(Presence::is_gone)
    }
}

/// What a lease does with its line.
pub enum Drive {
    Input {
        line: Arc<dyn Line>,
        pull: Pull,
        hub: EdgeHub,
    },
    Output {
        line: Arc<dyn Line>,
    },
    /// A wave: by software, with a reason, on a line that we hold; or by hardware, without a line.
    Pwm {
        wave: Arc<pwm::RunningWave>,
        line: Option<Arc<dyn Line>>,
        without: Option<pwm::Without>,
    },
}

impl Drive {
    pub const fn mode(&self) -> &'static str {
        match self {
            Self::Input { .. } => "an input",
            Self::Output { .. } => "an output",
            Self::Pwm { .. } => "driven by PWM",
        }
    }
    /// Whether we hold the line.
    pub const fn has_line(&self) -> bool {
        !matches!(self, Self::Pwm { line: None, .. })
    }
    pub fn close(&self) {
        match self {
            Self::Input { line, .. } => line.close(),
            Self::Output { line } => line.close(),
            Self::Pwm { wave, line, .. } => {
                if let Err(fault) = wave.stop() {
                    tracing::error!(%fault, "PWM could not be stopped");
                }
                if let Some(line) = line {
                    line.close();
                }
            }
        }
    }
}

/// What happens when a written level's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    To(Level),
    /// The lease ends: the pin was unused before.
    Safe,
}

/// One lease.
pub struct Lease {
    pub owner: Owner,
    pub drive: Drive,
    /// How long it lasts after each use; `None`: as long as the connection. A connection has one only if its caller gave
    /// it, and then it counts without the connection too.
    pub lasts: Option<Duration>,
    pub until: Option<Instant>,
    pub revert: Option<(Instant, Back)>,
    /// A repetition in progress; the lease ends with it.
    pub repeat: Option<Repetition>,
}

impl Lease {
    /// Whether `other` may use it as its own. One that continues without its connection belongs to all connections of
    /// its principal.
    pub fn is_of(&self, other: &Owner) -> bool {
        match (&self.owner.name, &other.name) {
            (Some(name), Some(other)) => name == other,
            (None, None) => {
                self.owner.principal == other.principal
                    && (self.owner.presence == other.presence || self.owner.is_gone())
            }
            _ => false,
        }
    }

    /// Renews it after use by its owner, possibly on another connection, whose duration then applies.
    pub fn used(&mut self, owner: &Owner, lasts: Option<Duration>) {
        if self.owner.presence != owner.presence {
            (self.owner, self.lasts) = (owner.clone(), None);
        }
        self.renew(lasts);
    }

    /// When it ends unless it is used; `None` when only a connection ends it.
    pub fn ends(&self) -> Option<Instant> {
        if let Some(repeat) = &self.repeat {
            return Some(repeat.ends);
        }
        let reverted = self.revert.filter(|(_, back)| *back == Back::Safe).map(|(at, _)| at);
        [self.until, reverted].into_iter().flatten().min()
    }

    pub fn held_by(&self) -> HeldBy {
        let ordered = self.repeat.is_some() || matches!(self.revert, Some((_, Back::Safe)));
        match (&self.owner.presence, self.lasts) {
            _ if ordered => HeldBy::Schedule,
            (Some(_), None) => HeldBy::Connection,
            _ => HeldBy::Lease,
        }
    }

    /// Its connection has ended. Returns whether it goes on: a time that its caller gave counts without the caller.
    pub fn stays(&mut self) -> bool {
        if let Some((_, back)) = &mut self.revert
            && self.until.is_none()
        {
            // What it goes back to was held by the connection.
            *back = Back::Safe;
        }
        self.repeat.is_some() || self.revert.is_some() || self.until.is_some()
    }

    /// The machine was halted: a repetition stops where it is, and what was to be taken back goes to the safe state
    /// instead, both at the time when they would have ended. Returns whether that changed something.
    pub fn hold(&mut self) -> bool {
        if let Some(repeat) = self.repeat.take() {
            self.revert = Some((repeat.ends, Back::Safe));
            return true;
        }
        match &mut self.revert {
            Some((_, back)) if *back != Back::Safe => {
                *back = Back::Safe;
                true
            }
            _ => false,
        }
    }

    /// Renews it after use.
    pub fn renew(&mut self, lasts: Option<Duration>) {
        if self.repeat.is_some() {
            return;
        }
        self.lasts = lasts.or(self.lasts);
        let after = self.revert.map(|(at, _)| at);
        // Not before its pending changes.
        self.until =
            self.lasts.map(|lasts| Instant::now() + lasts).map(|until| after.map_or(until, |at| until.max(at)));
    }

    /// The refusal for other callers.
    pub fn refusal(&self) -> GpioRefusal {
        let free_in = self.ends().map(|end| end.saturating_duration_since(Instant::now()));
        GpioRefusal::Lent { to: self.owner.principal.clone(), free_in }
    }

    /// The next moment something is due.
    pub fn due(&self) -> Option<Instant> {
        let revert = self.revert.map(|(at, _)| at);
        let next = self.repeat.as_ref().map(|repeat| repeat.next);
        [self.until, revert, next].into_iter().flatten().min()
    }
}
