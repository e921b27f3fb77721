//! What the tools say about a type of agents.

use crate::{agents::SpawnedAgent, registry::context::Context};
use contract::config::sections::agents::AgentKind;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct AgentOut {
    agent_id: String,
    r#type: String,
    /// When it was spawned, UTC.
    spawned: String,
}

impl AgentOut {
    pub fn of(agent: SpawnedAgent) -> Self {
        Self { agent_id: agent.agent_id, r#type: agent.agent_type, spawned: agent.spawned }
    }
}

/// A type of agents.
#[derive(Serialize, JsonSchema)]
pub struct TypeOut {
    r#type: String,
    /// "command", "dbus" or "mcp"; "view": tools of this server.
    kind: &'static str,
    /// "ready", "starting", "running", "restarting", "held" or "stopped".
    state: &'static str,
    /// Those that the owner named.
    tools: Vec<ToolOut>,
    /// Why its program cannot be used or does not run, or why some of its tools are not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    problem: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ToolOut {
    name: String,
    /// "accepted", or why it is off: "new", "changed", "unknown" or "unusable".
    state: &'static str,
}

impl TypeOut {
    /// `None`: there is no such type.
    pub fn of(cx: &Context, name: &str) -> Option<Self> {
        let agents = &cx.services.agents;
        let Some(declared) = agents.find(name) else {
            let is_view = contract::config::sections::agents::VIEWS.contains(&name);
            let view = Self { r#type: name.to_owned(), kind: "view", state: "ready", tools: Vec::new(), problem: None };
            return is_view.then_some(view);
        };
        let known = agents.known(name);
        let state = |tool: &str| {
            let tools = known.as_ref().map(|known| known.tools.as_slice()).unwrap_or_default();
            tools.iter().find(|known| known.name == tool).map_or("unknown", |known| known.state.word())
        };
        Some(Self {
            r#type: name.to_owned(),
            kind: match declared.kind {
                AgentKind::Command => "command",
                AgentKind::Mcp => "mcp",
                AgentKind::Dbus => "dbus",
            },
            state: if declared.kind == AgentKind::Command { "ready" } else { agents.standing(name) },
            tools: declared
                .tools
                .keys()
                .map(|tool| ToolOut { name: format!("{name}.{tool}"), state: state(tool) })
                .collect(),
            problem: known.as_ref().and_then(|known| known.problem.clone()),
        })
    }
}
