//! A command that the privileged half runs for a call, and that ends with the call: when it is cancelled, and when it is dropped.

use agent::{
    AgentLink,
    operations::commands::{CommandRef, StopCommand},
};
use base::error::ErrorCode;
use std::{convert::Infallible, future::pending, time::Duration};

/// Delay before a stop is repeated to an agent that does not know the command yet.
const AGAIN: Duration = Duration::from_millis(50);

/// Tells the agent to stop the command. Never returns: the agent answers the original call.
pub async fn told_to_end(agent: &AgentLink, id: &str) -> Infallible {
    // If the cancellation follows directly after the call, the agent may not know the command yet.
    while let Err(error) = agent.call::<StopCommand>(CommandRef { id: id.to_owned() }).await {
        if error.code != ErrorCode::NotFound {
            tracing::warn!(%error, "the command could not be told to end");
            break;
        }
        tokio::time::sleep(AGAIN).await;
    }
    pending().await
}

/// Stops the command if the call is dropped before [`StopWhenDropped::ended`].
pub struct StopWhenDropped {
    agent: AgentLink,
    id: Option<String>,
}

impl StopWhenDropped {
    pub fn new(agent: &AgentLink, id: &str) -> Self {
        Self { agent: agent.clone(), id: Some(id.to_owned()) }
    }

    /// There is nothing left to stop.
    pub fn ended(mut self) {
        self.id = None;
    }
}

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let agent = self.agent.clone();
        base::task::spawn(async move {
            // If the agent is gone, so is the command.
            if let Err(error) = agent.call::<StopCommand>(CommandRef { id }).await {
                tracing::debug!(%error, "the command was not there to be stopped");
            }
        });
    }
}
