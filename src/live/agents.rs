//! Follows what the privileged half says about agents: their accepted tools become tools of this server. Without
//! `[[agents]]` there is nothing to follow.

use crate::{
    agents::{TaskCall, TaskCaller},
    registry::pipeline::{Call, Pipeline},
    rpc::router::Server,
    tools::agents::entries,
};
use agent::operations::{
    agents::{FollowAgents, FollowRequest},
    halt::MAX_WAIT_MS,
};
use base::error::ToolError;
use contract::config::{AgentType, sections::agents::AgentStart};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Longest pause before a privileged half that does not answer is asked again.
const AGAIN: Duration = Duration::from_secs(60);

/// Lets tasks through the pipeline, and follows the agents while the server runs. Needs the runtime.
pub fn follow(server: &Arc<Server>) {
    let agents = &server.pipeline.services.agents;
    agents.calls_through(Arc::new(Through(Arc::downgrade(&server.pipeline))));
    if agents.declared().is_empty() {
        return;
    }
    let (pipeline, stop) = (Arc::clone(&server.pipeline), server.stop.clone());
    base::task::spawn_on(&server.tasks, async move {
        stop.run_until_cancelled(follow_agents(&pipeline)).await;
        pipeline.services.agents.end();
    });
}

async fn follow_agents(pipeline: &Pipeline) {
    let agents = &pipeline.services.agents;
    let (mut known, mut pause) = (0, Duration::from_secs(1));
    loop {
        let wait_ms = if known == 0 { 0 } else { MAX_WAIT_MS };
        match agents.link().call::<FollowAgents>(FollowRequest { known, wait_ms }).await {
            Ok(now) => {
                let first = known == 0;
                (known, pause) = (now.revision, Duration::from_secs(1));
                for (state, is_other) in agents.hear(now) {
                    let declared = agents.find(&state.name).filter(|_| is_other);
                    if let Some(found) = declared {
                        let (offered, refused) = entries(found, &state);
                        let set = pipeline.registry.set_namespace(&state.name, offered);
                        let refused = set.err().map(|error| {
                            tracing::error!(target: "raspi_mcp::agents", agent = state.name, %error, "its tools are not offered");
                            error.into_message()
                        }).or(refused);
                        agents.refused(&state.name, refused);
                    }
                    // The privileged half has said by now which account it has.
                    let at_once = |declared: &AgentType| declared.start != AgentStart::Demand;
                    if state.wanted || first && agents.find(&state.name).is_some_and(at_once) {
                        start(pipeline, &state.name, state.wanted);
                    }
                }
            }
            Err(error) => {
                tracing::debug!(target: "raspi_mcp::agents", %error, "the privileged half does not say what is accepted");
                tokio::time::sleep(pause).await;
                // It may be another process by now, which counts anew.
                (known, pause) = (0, (pause * 2).min(AGAIN));
            }
        }
    }
}

/// Starts the process of a type, if it has one of its own. `wanted`: somebody waits to see its tools.
fn start(pipeline: &Pipeline, name: &str, wanted: bool) {
    let (agents, name) = (Arc::clone(&pipeline.services.agents), name.to_owned());
    base::task::spawn(async move {
        if let Some(declared) = agents.find(&name).cloned()
            && let Err(error) = match wanted {
                true => agents.show(&declared).await,
                false => agents.started(&declared).await.map(drop),
            }
            && declared.start != AgentStart::Never
        {
            tracing::warn!(target: "raspi_mcp::agents", agent = name, %error, "it could not be started");
        }
    });
}

struct Through(Weak<Pipeline>);

impl TaskCaller for Through {
    fn call(&self, task: TaskCall) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let TaskCall { caller, names, args, request_id, cancel } = task;
            let pipeline = self.0.upgrade().ok_or_else(|| ToolError::unavailable("the server is stopping"))?;
            let mut found = names.iter().filter_map(|name| Some((name, pipeline.registry.resolve(name).ok()?)));
            let (written, (entry, _)) = found.next().ok_or_else(|| {
                ToolError::not_found(format!("there is no tool {}", names.join(" or ")))
                    .with("parameter", "type")
                    .hint("tools.search finds tools")
            })?;
            let (entry, args, alias) = pipeline.unwrap(&caller, written, entry, args);
            if entry.meta().namespace() == "agents" {
                return Err(ToolError::invalid("a task cannot be about agents").with("parameter", "type"));
            }
            let (correlation_id, progress, peer) = (None, Default::default(), None);
            let call = Call { entry, caller, args, alias, request_id, correlation_id, cancel, progress, peer };
            let output = pipeline.run(call).await.result?;
            serde_json::from_str(output.json.get()).map_err(|error| ToolError::internal(error.to_string()))
        })
    }
}
