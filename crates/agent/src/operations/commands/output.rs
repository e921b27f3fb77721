//! Output of a running command.

use super::CommandRef;
use crate::{context::Context, exec::output::Chunk, operations::Operation};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

/// The command's output since the last request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandOutput {
    pub chunks: Vec<Chunk>,
    pub ended: bool,
}

/// Returns the command's output since the last request; waits for output, or the command's end.
pub struct ReadOutput;

impl Operation for ReadOutput {
    const TAG: &'static str = "command_output";
    const ANSWER: &'static str = "output";
    const WAITS: bool = true;
    type Request = CommandRef;
    type Answer = CommandOutput;

    async fn run(cx: &Context<'_>, request: CommandRef) -> Result<CommandOutput, ToolError> {
        let (chunks, ended) = cx.commands.find(&request.id)?.live.next().await;
        Ok(CommandOutput { chunks, ended })
    }
}
