//! `org.dbusmcp.Orchestrator`, with `compat = ["dbus-mcp"]`: the agents by the names of dbus-mcp (docs/bus.md). Each method is a call of
//! a tool of `agents.*`, with everything that holds for one.

use super::{
    door::{Door, Reply},
    fault::Fault,
    methods::{ORCHESTRATOR, ORCHESTRATOR_OBJECT},
    tools::Asked,
    values::{Fields, Options, text, texts_of},
};
use crate::agents::{AgentEvent, BUSY, TIMEOUT};
use base::error::{ErrorCode, ToolError};
use serde_json::Value;
use zbus::Variant;

/// Codes of dbus-mcp for failures of the bus, in `details.dbus_mcp_code`.
const NO_BUS: i32 = -32200;
const NO_SERVICE: i32 = -32201;
const CALL_FAILED: i32 = -32202;
const ACCESS_DENIED: i32 = -32203;

impl Door {
    /// One of its methods.
    ///
    /// # Errors
    /// Those of the tool, all with `details.dbus_mcp_code`.
    pub(super) async fn orchestrate(&self, asked: &Asked<'_>, member: &str, fields: &Fields) -> Result<Reply, Fault> {
        Ok(Reply::Fields(vec![self.orchestrated(asked, member, fields).await.map_err(coded)?]))
    }

    async fn orchestrated(
        &self,
        asked: &Asked<'_>,
        member: &str,
        fields: &Fields,
    ) -> Result<Variant<'static>, ToolError> {
        let (first, json) = match &fields[..] {
            [Variant::Str(first), Variant::Str(json)] => (first.as_str(), json.as_str()),
            [Variant::Str(first)] => (first.as_str(), "{}"),
            _ => ("", "{}"),
        };
        let (tool, key, parameter) = match member {
            "SpawnAgent" => ("agents.spawn", "type", "config_json"),
            "SendTask" => ("agents.send_task", "agent_id", "task_json"),
            "GetAgentStatus" => ("agents.get_status", "agent_id", ""),
            _ => ("agents.list", "", ""),
        };
        let mut args = self.object(parameter, json)?;
        if !key.is_empty() {
            args.insert(key.to_owned(), first.into());
        }
        let wanted = self.wanted_of(asked, tool, Value::Object(args), Options::default())?;
        let answer = self.answer(wanted).await?;
        // The answer of a tool is JSON.
        let value = || serde_json::from_str::<Value>(&answer).unwrap_or_default();
        Ok(match member {
            "SpawnAgent" => text(value()["agent_id"].as_str().unwrap_or_default()),
            "ListAgents" => {
                let agents = value();
                let each = agents["agents"].as_array().into_iter().flatten();
                texts_of(each.filter_map(|agent| agent["agent_id"].as_str()))
            }
            _ => text(answer),
        })
    }

    /// Tells everybody that an agent came or went, as dbus-mcp does.
    pub(super) async fn tell(&self, event: AgentEvent) {
        let (name, fields) = match event {
            AgentEvent::Spawned { id, agent_type, timestamp } => {
                ("AgentSpawned", vec![text(id), text(agent_type), Variant::from(timestamp)])
            }
            AgentEvent::Died { id, exit_code, reason } => {
                ("AgentDied", vec![text(id), Variant::from(exit_code), text(reason.word())])
            }
        };
        self.signal(None, ORCHESTRATOR_OBJECT, ORCHESTRATOR, name, fields).await;
    }
}

/// Adds the code of dbus-mcp where the tool gave none.
fn coded(mut error: ToolError) -> ToolError {
    let code = match error.code {
        ErrorCode::PermissionDenied | ErrorCode::Unauthenticated => ACCESS_DENIED,
        ErrorCode::NotFound => NO_SERVICE,
        ErrorCode::ResourceExhausted => BUSY,
        ErrorCode::Timeout => TIMEOUT,
        ErrorCode::CapabilityMissing => NO_BUS,
        _ => CALL_FAILED,
    };
    error.details.entry("dbus_mcp_code").or_insert(code.into());
    error
}
