//! For whom the server wants a deed done, and by which approval: what the agent judges before every deed.

use super::{
    Agent, Peer,
    asks::{Ask, BoundCall},
};
use crate::{error::ToolError, meta::Mode, registry::context::Context};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What goes with every deed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warrant {
    /// Who called the tool.
    pub principal: String,
    /// SHA-256 of the canonical JSON of its arguments.
    pub args_sha256: String,
    /// The ask a person answered, where the policy wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<String>,
}

impl Warrant {
    /// That of the call `cx` serves.
    pub fn of(cx: &Context) -> Self {
        Self {
            principal: cx.caller.principal.clone(),
            args_sha256: cx.args_sha256.to_string(),
            ask_id: cx.approval.clone(),
        }
    }
}

impl Agent {
    /// Whether the policy has room for `tool` at all: namespace, switches and mode. They are for who comes over the network: root at the
    /// console is asked nothing, or a device that only reads could not be mended there.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that stands in the way.
    pub(super) fn allows(&self, peer: &Peer, tool: &str, warrant: &Warrant) -> Result<(), ToolError> {
        if peer.is_at_the_console(warrant) { Ok(()) } else { self.policy().check(tool).map(drop) }
    }

    /// Lets a deed of `tool` pass: by the policy and, where that asks, by an approval that is used up here, once `shows` has
    /// found that the person saw this very deed. Call it last, after every check that could still refuse.
    ///
    /// # Errors
    /// `permission_denied` naming the setting or the ask that stands in the way.
    pub(super) fn admit(
        &self,
        peer: &Peer,
        tool: &str,
        warrant: &Warrant,
        shows: impl Fn(&Ask) -> bool,
    ) -> Result<(), ToolError> {
        self.admit_call(peer, tool, &Value::Null, warrant, shows)
    }

    /// The same for a tool whose calls do not all do the same: `args` are those that tell them apart.
    pub(super) fn admit_call(
        &self,
        peer: &Peer,
        tool: &str,
        args: &Value,
        warrant: &Warrant,
        shows: impl Fn(&Ask) -> bool,
    ) -> Result<(), ToolError> {
        if peer.is_at_the_console(warrant) {
            // Namespaces, modes and asks are for who comes over the network. What a bundle has to be is judged all the same.
            return Ok(());
        }
        if self.policy().check_call(tool, args)? != Mode::Ask {
            return Ok(());
        }
        let id = warrant.ask_id.as_deref().ok_or_else(|| {
            ToolError::denied(format!("the agent's policy wants a person to approve {tool}"))
                .with("tool", tool)
                .hint("the server has to ask first; its policy may be wider than the agent's")
        })?;
        let call = BoundCall { tool, principal: &warrant.principal, args_sha256: &warrant.args_sha256 };
        let (ask, _) = self.asks.redeem(id, &call, false)?;
        if !shows(&ask) {
            return Err(ToolError::denied(format!("ask {} showed the person something else than this call", ask.id))
                .with("ask_id", ask.id.clone())
                .with("differs", "arguments"));
        }
        // Used up before the act: after a power cut in between, a person is asked again.
        let (ask, _) = self.asks.redeem(id, &call, true)?;
        self.note_ask("ask used", peer, &ask)
    }
}
