//! How agents end, and what whoever listens is told.

use super::{CODE, CRASHED, SPAWN_FAILED, coded};
use agent::{exec::Ending, operations::commands::CommandEnd};
use base::{error::ToolError, redact::redact_text, speech::last_chars};
use std::sync::{Mutex, PoisonError};

/// Characters of what it wrote to standard error, in the error.
const STDERR: usize = 500;

/// An agent came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    Spawned {
        id: String,
        agent_type: String,
        /// Seconds since 1970.
        timestamp: i64,
    },
    Died {
        id: String,
        /// 128 and the signal's number when a signal ended it.
        exit_code: i32,
        reason: DeathReason,
    },
}

/// Why an agent died: one of these words, since dbus-mcp's signal is heard by everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeathReason {
    /// It was told to end.
    Shutdown,
    /// It ended by itself.
    Exited,
    /// A signal ended it: its own fault, or too much memory.
    Killed,
    /// It could not be started.
    Failed,
    /// It does not speak MCP as it should.
    Protocol,
    /// The privileged half, which ran it, is gone.
    Lost,
}

impl DeathReason {
    pub fn word(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Exited => "exited",
            Self::Killed => "killed",
            Self::Failed => "failed",
            Self::Protocol => "protocol",
            Self::Lost => "lost",
        }
    }

    /// The exit code and the reason of a process that ended so.
    pub(super) fn of(ending: Ending) -> (i32, Self) {
        match ending {
            Ending::Exited(code) => (code, Self::Exited),
            Ending::Killed(signal) => (128 + signal, Self::Killed),
        }
    }
}

/// What an agent did last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Start,
    Initialize,
    List,
    Runs,
}

pub(super) fn set_step(step: &Mutex<Step>, now: Step) {
    *step.lock().unwrap_or_else(PoisonError::into_inner) = now;
}

/// How a run of the process ended.
pub(super) struct Death {
    pub(super) error: ToolError,
    pub(super) exit_code: i32,
    pub(super) reason: DeathReason,
    /// A caller's call brought it about: it does not count towards [`DEATHS`], or one caller could take the agent from all.
    pub(super) by_a_call: bool,
}

impl Death {
    pub(super) fn of(error: ToolError, exit_code: i32, reason: DeathReason) -> Self {
        Self { error, exit_code, reason, by_a_call: false }
    }

    /// With what it did last, unless it ran.
    pub(super) fn at(mut self, step: &Mutex<Step>) -> Self {
        let step = match *step.lock().unwrap_or_else(PoisonError::into_inner) {
            Step::Start => "start",
            Step::Initialize => "initialize",
            Step::List => "tools/list",
            Step::Runs => return self,
        };
        self.error = self.error.with("step", step);
        self
    }
}

/// What it wrote to standard error; the end of it, if it is long.
pub(super) fn stderr_tail(end: &CommandEnd) -> String {
    last_chars(&redact_text(&end.stderr.text()), STDERR).to_owned()
}

pub(super) fn died(name: &str, end: Result<CommandEnd, ToolError>) -> Death {
    match end {
        Err(error) => Death::of(coded(error, SPAWN_FAILED), -1, DeathReason::Failed),
        Ok(end) => {
            let (code, reason) = DeathReason::of(end.ending);
            let error = ToolError::unavailable(format!("the agent {name} ended with {code}"))
                .with("exit_code", code)
                .with("stderr", stderr_tail(&end))
                .with(CODE, CRASHED);
            Death::of(error, code, reason)
        }
    }
}
