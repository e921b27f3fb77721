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

use serde::{Deserialize, Serialize};

/// A running command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRef {
    pub id: String,
}
