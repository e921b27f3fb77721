//! Commands of the agent's own list: run, read, stop.

mod input;
mod output;
mod plan;
mod run;
mod stop;
mod way;

pub use input::{digest, without_input};
pub use output::{CommandOutput, ReadOutput};
pub(crate) use plan::{interpreters, open_to_others, trusted, unchangeable};
pub(crate) use run::attend;
pub use run::{AFTER_LIMIT, CommandEnd, CommandRequest, RunCommand};
pub use stop::StopCommand;

use base::{canonical, error::ToolError};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

/// A running command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRef {
    pub id: String,
}

impl CommandRef {
    /// For a command that is about to be started: 32 hexadecimal digits.
    ///
    /// # Errors
    /// `internal` when the kernel gives no random bytes.
    pub fn random() -> Result<Self, ToolError> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
        Ok(Self { id: canonical::hex(&bytes) })
    }
}
