//! What happens to agents, for whoever listens.

use agent::exec::Ending;

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
