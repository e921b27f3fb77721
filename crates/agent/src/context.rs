//! The agent's parts, and the context of an operation: all parts, and the peer that asks.

use super::{
    agents::Agents,
    approvers::Approvers,
    asks::{Ask, Asks, BoundCall},
    authorization::Authorization,
    button::Grip,
    claims::ClaimService,
    clock::Clock,
    connections::NetworkChanges,
    exec::{Commands, Runner},
    fleet::FleetRecord,
    halt::Latch,
    header::HeaderRegisters,
    heads::Heads,
    installer::Installer,
    log::OpLog,
    machine::MachineControl,
    peer::Peer,
    policy::AgentPolicy,
    power::Power,
    processes::Processes,
    settings::AgentSettings,
    units::Units,
};
use base::{error::ToolError, os::lock::Lock, reload_on_change::ReloadOnChange};
use contract::meta::Mode;
use serde_json::Value;
use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

/// The privileged half. Each part has one responsibility.
pub struct Agent {
    pub(super) settings: AgentSettings,
    pub(super) policy: ReloadOnChange<AgentPolicy>,
    pub(super) clock: Clock,
    pub(super) asks: Arc<Asks>,
    pub(super) approvers: Approvers,
    pub(super) machine: Arc<dyn MachineControl>,
    pub(super) power: Power,
    pub(super) runner: Arc<dyn Runner>,
    pub(super) commands: Commands,
    pub(super) agents: Agents,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) units: Arc<dyn Units>,
    pub(super) connections: NetworkChanges,
    pub(super) heads: Heads,
    pub(super) log: Arc<OpLog>,
    /// Milliseconds since 1970.
    pub(super) started_ms: i64,
    pub(super) simulated: bool,
    /// What went wrong at start.
    pub(super) faults: Vec<String>,
    pub(super) header: HeaderRegisters,
    pub(super) installer: Arc<Installer>,
    pub(super) claims: ClaimService,
    pub(super) halt: Arc<Latch>,
    pub(super) fleet: FleetRecord,
    pub(super) button: OnceLock<Grip>,
    /// Held as long as the agent lives: one agent per folder.
    pub(super) _lock: Lock,
}

impl Agent {
    /// The policy by the current configuration.
    pub(super) fn policy(&self) -> Arc<AgentPolicy> {
        self.policy.get()
    }
}

/// The context of an operation: the agent's parts, and the peer.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(super) agent: &'a Arc<Agent>,
    pub(super) peer: &'a Peer,
}

impl Deref for Context<'_> {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        self.agent
    }
}

impl Context<'_> {
    /// Logs how the operation `what` ended.
    ///
    /// # Errors
    /// Those of `result`; `unavailable`, with what may have changed, when it was done but could not be logged.
    pub(super) fn noted<T>(&self, what: &str, request: Value, result: Result<T, ToolError>) -> Result<T, ToolError> {
        self.log.note_done(what, self.peer, request, result.as_ref().err())?;
        result
    }

    /// Whether the policy allows `tool` at all: namespace, switches and mode. These apply to network callers. Root at
    /// the console passes, because a read-only device could not be repaired otherwise.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that denies it.
    pub(super) fn allows(&self, tool: &str, authorization: &Authorization) -> Result<(), ToolError> {
        if self.peer.is_at_the_console(authorization) { Ok(()) } else { self.policy().check(tool).map(drop) }
    }

    /// Admits an operation of `tool`: by the policy and, in mode `ask`, by an approval, which is consumed here.
    /// `was_shown` gets the arguments that the person saw, and judges whether they approved this very operation. Call
    /// it last, after every check that could still refuse.
    ///
    /// # Errors
    /// `failed_precondition` while the machine is halted; `permission_denied` naming the setting or the ask that denies
    /// it.
    pub(super) fn admit(
        &self,
        tool: &str,
        authorization: &Authorization,
        was_shown: impl Fn(&Value) -> bool,
    ) -> Result<(), ToolError> {
        self.admit_call(tool, &Value::Null, authorization, was_shown)
    }

    /// The same for a tool with several actions: `args` are the arguments that tell them apart.
    pub(super) fn admit_call(
        &self,
        tool: &str,
        args: &Value,
        authorization: &Authorization,
        was_shown: impl Fn(&Value) -> bool,
    ) -> Result<(), ToolError> {
        if self.peer.is_at_the_console(authorization) {
            // Namespaces, modes and asks apply to network callers. A bundle is still verified.
            return Ok(());
        }
        self.halt.check(tool)?;
        if self.policy().check_call(tool, args)? != Mode::Ask {
            return Ok(());
        }
        let id = authorization.ask_id.as_deref().ok_or_else(|| {
            ToolError::denied(format!("the agent's policy wants a person to approve {tool}"))
                .with("tool", tool)
                .hint("the server has to ask first; its policy may be wider than the agent's")
        })?;
        let call = BoundCall { tool, principal: &authorization.principal, args_sha256: &authorization.args_sha256 };
        let (ask, _): (Ask, _) = self.asks.redeem(id, &call, false)?;
        if !was_shown(&ask.request.args) {
            return Err(ToolError::denied(format!("ask {} showed the person something else than this call", ask.id))
                .with("ask_id", ask.id.clone())
                .with("differs", "arguments"));
        }
        // Consumed before the act: after a power cut in between, a person is asked again.
        let (ask, _) = self.asks.redeem(id, &call, true)?;
        self.log.note_ask("ask used", self.peer, &ask)
    }
}
