//! For whom the server wants a deed done, and by which approval: what the agent judges before every deed.

use super::{
    Agent, Peer,
    asks::{Ask, BoundCall},
};
use crate::{error::ToolError, meta::Mode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What goes with every deed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Warrant")]
pub struct Authorization {
    /// Who called the tool.
    pub principal: String,
    /// SHA-256 of the canonical JSON of its arguments.
    pub args_sha256: String,
    /// The ask a person answered, where the policy wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<String>,
}

impl Agent {
    /// Whether the policy has room for `tool` at all: namespace, switches and mode. They are for who comes over the network: root at the
    /// console is asked nothing, or a device that only reads could not be mended there.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that stands in the way.
    pub(super) fn allows(&self, peer: &Peer, tool: &str, authorization: &Authorization) -> Result<(), ToolError> {
        if peer.is_at_the_console(authorization) { Ok(()) } else { self.policy().check(tool).map(drop) }
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
        authorization: &Authorization,
        shows: impl Fn(&Ask) -> bool,
    ) -> Result<(), ToolError> {
        self.admit_call(peer, tool, &Value::Null, authorization, shows)
    }

    /// The same for a tool whose calls do not all do the same: `args` are those that tell them apart.
    pub(super) fn admit_call(
        &self,
        peer: &Peer,
        tool: &str,
        args: &Value,
        authorization: &Authorization,
        shows: impl Fn(&Ask) -> bool,
    ) -> Result<(), ToolError> {
        if peer.is_at_the_console(authorization) {
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
