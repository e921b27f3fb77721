//! Follows what is accepted and offered: the server half hears of a change when it happens.

use super::{files_of, is_owner};
use crate::{agents::AgentsNow, context::Context, operations::Operation, operations::halt::MAX_WAIT_MS, peer::Callers};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowRequest {
    /// The revision that the caller knows; another one is answered at once.
    #[serde(default)]
    pub known: u64,
    /// At most [`MAX_WAIT_MS`]. 0 answers at once.
    #[serde(default)]
    pub wait_ms: u64,
}

/// All agents, once there is another revision, or as they are after the wait.
pub struct FollowAgents;

impl Operation for FollowAgents {
    const TAG: &'static str = "follow_agents";
    const ANSWER: &'static str = "agents_now";
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    type Request = FollowRequest;
    type Answer = AgentsNow;

    fn patience(request: &FollowRequest) -> Duration {
        // Hashing the files of programs may take a while.
        Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS)) + Duration::from_secs(60)
    }

    async fn run(cx: &Context<'_>, request: FollowRequest) -> Result<AgentsNow, ToolError> {
        let mut changes = cx.agents.changes();
        let changed = changes.wait_for(|revision| *revision != request.known);
        // Neither outcome is a failure: the sender lives as long as the agent.
        let _ = tokio::time::timeout(Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS)), changed).await;
        let agent = Arc::clone(cx.agent);
        let look = move |_: &_| {
            let files = |declared: &_| agent.agents.files(declared, &files_of(&agent, declared)?);
            Ok(agent.agents.now(&agent.settings.root, files))
        };
        let now = blocking::run("agents", look).await?;
        Ok(if is_owner(cx.peer) { now } else { without_arguments(now) })
    }
}

/// Arguments and variables may hold a secret, and nobody but the owner needs them.
fn without_arguments(mut now: AgentsNow) -> AgentsNow {
    for agent in &mut now.agents {
        agent.declared.args.clear();
        agent.declared.env.clear();
    }
    now
}
