//! Stops a running command.

use super::CommandRef;
use crate::{
    context::Context,
    operations::{Done, Operation},
};
use base::error::ToolError;

/// Asks all its processes to end. The outcome is the answer to the request that runs it.
pub struct StopCommand;

impl Operation for StopCommand {
    const TAG: &'static str = "stop_command";
    const ANSWER: &'static str = "done";
    type Request = CommandRef;
    type Answer = Done;

    async fn run(cx: &Context<'_>, request: CommandRef) -> Result<Done, ToolError> {
        let running = cx.commands.find(&request.id).or_else(|_| cx.agents.running.find(&request.id))?;
        running.stop.cancel();
        Ok(Done {})
    }
}
