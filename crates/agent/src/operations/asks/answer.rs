//! A person's answer, given at the machine.

use crate::{asks::Ask, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::Answer")]
pub struct AnswerRequest {
    pub id: String,
    pub approve: bool,
}

/// Accepted from approvers only, never from the server.
pub struct AnswerAsk;

impl Operation for AnswerAsk {
    const TAG: &'static str = "answer";
    const ANSWER: &'static str = "ask";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp approve" };
    type Request = AnswerRequest;
    type Answer = Ask;

    async fn run(cx: &Context<'_>, request: AnswerRequest) -> Result<Ask, ToolError> {
        let ask = cx.asks.answer(&request.id, request.approve, &cx.peer.name, cx.peer.how())?;
        cx.log.note_ask("ask answered", cx.peer, &ask)?;
        Ok(ask)
    }
}
