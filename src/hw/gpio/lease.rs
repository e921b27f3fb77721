//! A line that is lent to a caller, and until when.

use super::{
    ears::Ears,
    port::{Level, Line, Pull},
    refusal::Refusal,
};
use crate::{
    access::{caller::Caller, presence::Presence},
    hw::pwm,
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Whom a line is lent to: a principal on one of its connections; over HTTP the principal alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub principal: String,
    pub presence: Option<Presence>,
}

impl Owner {
    pub fn of(caller: &Caller) -> Self {
        Self { principal: caller.principal.clone(), presence: caller.presence.as_ref().map(Presence::held) }
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
        ears: Ears,
    },
    Output {
        line: Arc<dyn Line>,
    },
    /// A wave; by software on a line of ours, for a reason, by hardware on none.
    Pwm {
        wave: Arc<pwm::Running>,
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

/// What follows when a written level has lasted as long as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    To(Level),
    /// The lease ends: nobody had the pin before.
    Safe,
}

/// One lease.
pub struct Lease {
    pub owner: Owner,
    pub drive: Drive,
    /// How long it lasts after each use; `None` as long as the connection.
    pub lasts: Option<Duration>,
    pub until: Option<Instant>,
    pub revert: Option<(Instant, Back)>,
}

impl Lease {
    /// It was used: it lasts anew.
    pub fn renew(&mut self, lasts: Option<Duration>) {
        self.lasts = lasts.or(self.lasts);
        let after = self.revert.map(|(at, _)| at);
        // Not before what it still has to do.
        self.until =
            self.lasts.map(|lasts| Instant::now() + lasts).map(|until| after.map_or(until, |at| until.max(at)));
    }

    /// The refusal of anybody else.
    pub fn refusal(&self) -> Refusal {
        let free_in = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        Refusal::Lent { to: self.owner.principal.clone(), free_in }
    }

    /// The next moment something is due.
    pub fn due(&self) -> Option<Instant> {
        let revert = self.revert.map(|(at, _)| at);
        [self.until, revert].into_iter().flatten().min()
    }
}
