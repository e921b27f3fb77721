//! The agent's status.

use super::Operation;
use crate::{
    agents::ToolState,
    button::Grip,
    connections::NetworkChange,
    context::Context,
    peer::Callers,
    power::{PastPower, Scheduled},
    wire::PROTOCOL,
};
use base::error::ToolError;
use contract::{audit::AuditHead, config::PlaceSettings, halt::Halted};
use serde::{Deserialize, Serialize};

/// The agent's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Status")]
pub struct AgentStatus {
    pub version: String,
    pub protocol: u32,
    /// Privileged operations act on a simulated machine.
    pub simulated: bool,
    pub started_ms: i64,
    pub pending_asks: usize,
    #[serde(default)]
    pub power: Option<Scheduled>,
    #[serde(default)]
    pub last_power: Option<PastPower>,
    /// A network change that is reverted unless it is confirmed.
    #[serde(default)]
    pub network_change: Option<NetworkChange>,
    /// The newest audit head that the agent knows.
    #[serde(default)]
    pub audit_head: Option<AuditHead>,
    /// Faults found at start, for health.
    #[serde(default)]
    pub faults: Vec<String>,
    /// The places of both halves as the agent has them; an older agent does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<PlaceSettings>,
    /// The halt that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<Halted>,
    /// Tools of agents that are off because nobody has accepted them as they are: name and state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents_off: Vec<(String, ToolState)>,
}

impl AgentStatus {
    /// Where the agent and a server with these places disagree.
    pub fn differences(&self, server: &PlaceSettings) -> Vec<String> {
        self.places.as_ref().map(|places| server.differences(places)).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::Status")]
pub struct StatusRequest {}

/// Returns the agent's status.
pub struct GetStatus;

impl Operation for GetStatus {
    const TAG: &'static str = "status";
    const ANSWER: &'static str = "status";
    const CALLERS: Callers = Callers::Anyone;
    type Request = StatusRequest;
    type Answer = AgentStatus;

    async fn run(cx: &Context<'_>, _request: StatusRequest) -> Result<AgentStatus, ToolError> {
        let trouble = cx.button.get().and_then(Grip::trouble);
        Ok(AgentStatus {
            version: env!("CARGO_PKG_VERSION").into(),
            protocol: PROTOCOL,
            simulated: cx.simulated,
            started_ms: cx.started_ms,
            pending_asks: cx.asks.pending().len(),
            power: cx.power.pending(),
            last_power: cx.power.last(),
            network_change: cx.connections.shown().map(Into::into),
            audit_head: cx.heads.last(),
            faults: cx.faults.iter().cloned().chain(trouble).chain(cx.policy.fault()).collect(),
            places: Some(cx.settings.places.clone()),
            halted: cx.halt.halted(),
            agents_off: cx.agents.off(),
        })
    }
}
