//! Halts the machine.

use crate::{authorization::Authorization, context::Context, halt::HaltActor, operations::Operation, peer::Callers};
use base::error::ToolError;
use contract::halt::Halted;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const TOOL: &str = "manage.halt";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaltRequest {
    /// One line for people, at most [`contract::halt::MAX_REASON`] characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For a call of `manage.halt`; without it, the peer itself halts.
    #[serde(rename = "warrant", default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Authorization>,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaltAnswer {
    /// The halt that stands now.
    pub halted: Halted,
    /// Whether it stood before.
    pub already: bool,
    /// How many asks it denied.
    pub denied: usize,
}

/// Halts the machine and denies every open ask.
pub struct SetHalt;

impl Operation for SetHalt {
    const TAG: &'static str = "halt";
    const ANSWER: &'static str = "halt";
    // The server with a call's authorization, an approver without: see `actor`.
    const CALLERS: Callers = Callers::Anyone;
    const CHANGES: bool = true;
    type Request = HaltRequest;
    type Answer = HaltAnswer;

    fn was_shown(request: &HaltRequest, args: &Value) -> bool {
        let reason = request.reason.as_ref().map(|reason| json!(reason));
        args.get("reason").filter(|reason| !reason.is_null()) == reason.as_ref()
    }

    async fn run(cx: &Context<'_>, request: HaltRequest) -> Result<HaltAnswer, ToolError> {
        let actor = actor(cx, &request)?;
        let set = cx.halt.set(actor, cx.peer, request.reason).await?;
        Ok(HaltAnswer { halted: set.halted, already: set.already, denied: set.denied.len() })
    }
}

fn actor(cx: &Context<'_>, request: &HaltRequest) -> Result<HaltActor, ToolError> {
    match &request.authorization {
        Some(authorization) => {
            cx.peer.may(SetHalt::TAG, Callers::Server)?;
            cx.admit(TOOL, authorization, |args| SetHalt::was_shown(request, args))?;
            Ok(HaltActor { by: authorization.principal.clone(), how: TOOL.into() })
        }
        None => {
            cx.peer.may(SetHalt::TAG, Callers::Approvers { command: "raspi-mcp halt" })?;
            Ok(HaltActor { by: cx.peer.name.clone(), how: "raspi-mcp halt".into() })
        }
    }
}
