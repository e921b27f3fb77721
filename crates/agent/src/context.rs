//! The parts of the agent, and what an operation sees of them: all of them, and the peer that asks.

use super::{
    asks::{Ask, Asks, BoundCall},
    authorization::Authorization,
    button::Grip,
    claims::Claims,
    clock::Clock,
    connections::Connections,
    exec::{Commands, Runner},
    header::Header,
    heads::Heads,
    installer::Installer,
    log::OpLog,
    machine::Machine,
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

/// The privileged half, by its parts: each looks after one thing.
pub struct Agent {
    pub(super) settings: AgentSettings,
    pub(super) policy: ReloadOnChange<AgentPolicy>,
    pub(super) clock: Clock,
    pub(super) asks: Arc<Asks>,
    pub(super) machine: Arc<dyn Machine>,
    pub(super) power: Power,
    pub(super) runner: Arc<dyn Runner>,
    pub(super) commands: Commands,
    pub(super) processes: Arc<dyn Processes>,
    pub(super) units: Arc<dyn Units>,
    pub(super) connections: Connections,
    pub(super) heads: Heads,
    pub(super) log: Arc<OpLog>,
    /// Milliseconds since 1970.
    pub(super) started_ms: i64,
    pub(super) simulated: bool,
    /// What went wrong at start.
    pub(super) faults: Vec<String>,
    pub(super) header: Header,
    pub(super) installer: Arc<Installer>,
    pub(super) claims: Claims,
    pub(super) button: OnceLock<Grip>,
    /// Held as long as the agent lives: one agent a folder.
    pub(super) _lock: Lock,
}

impl Agent {
    /// The policy as the configuration has it now.
    pub(super) fn policy(&self) -> Arc<AgentPolicy> {
        self.policy.get()
    }
}

/// What an operation sees: the agent's parts, and who asks.
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
    /// Writes down how an operation ended, under the name `what`.
    ///
    /// # Errors
    /// Those of `result`; `unavailable`, with what may have changed, when it was done and could not be written down.
    pub(super) fn noted<T>(&self, what: &str, request: Value, result: Result<T, ToolError>) -> Result<T, ToolError> {
        self.log.note_done(what, self.peer, request, result.as_ref().err())?;
        result
    }

    /// Whether the policy has room for `tool` at all: namespace, switches and mode. They are for who comes over the network: root at the
    /// console is asked nothing, or a device that only reads could not be mended there.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that stands in the way.
    pub(super) fn allows(&self, tool: &str, authorization: &Authorization) -> Result<(), ToolError> {
        if self.peer.is_at_the_console(authorization) { Ok(()) } else { self.policy().check(tool).map(drop) }
    }

    /// Lets an operation of `tool` pass: by the policy and, where that asks, by an approval that is used up here. Before that,
    /// `was_shown` judges by the arguments that the person saw whether they approved this very operation. Call it last, after
    /// every check that could still refuse.
    ///
    /// # Errors
    /// `permission_denied` naming the setting or the ask that stands in the way.
    pub(super) fn admit(
        &self,
        tool: &str,
        authorization: &Authorization,
        was_shown: impl Fn(&Value) -> bool,
    ) -> Result<(), ToolError> {
        self.admit_call(tool, &Value::Null, authorization, was_shown)
    }

    /// The same for a tool whose calls do not all do the same: `args` are those that tell them apart.
    pub(super) fn admit_call(
        &self,
        tool: &str,
        args: &Value,
        authorization: &Authorization,
        was_shown: impl Fn(&Value) -> bool,
    ) -> Result<(), ToolError> {
        if self.peer.is_at_the_console(authorization) {
            // Namespaces, modes and asks are for who comes over the network. What a bundle has to be is judged all the same.
            return Ok(());
        }
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
        // Used up before the act: after a power cut in between, a person is asked again.
        let (ask, _) = self.asks.redeem(id, &call, true)?;
        self.log.note_ask("ask used", self.peer, &ask)
    }
}
