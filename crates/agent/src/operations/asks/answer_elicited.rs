//! A person's answer that came through an MCP client.

use crate::{
    asks::{Ask, AskState},
    context::Context,
    operations::Operation,
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::Elicited")]
pub struct ElicitedRequest {
    pub id: String,
    pub approve: bool,
    /// The name of the client.
    pub client: String,
}

/// Accepted only for clients that the agent's own configuration lists.
pub struct AnswerElicited;

impl Operation for AnswerElicited {
    const TAG: &'static str = "elicited";
    const ANSWER: &'static str = "ask";
    type Request = ElicitedRequest;
    type Answer = Ask;

    async fn run(cx: &Context<'_>, request: ElicitedRequest) -> Result<Ask, ToolError> {
        let ElicitedRequest { id, approve, client } = request;
        cx.policy().check_elicitation(&client)?;
        let asked = cx.asks.wait(&id, Duration::ZERO).await?;
        let how = format!("elicitation by {client}");
        let by = &asked.request.principal;
        let ask = match asked.state {
            AskState::Approved if !approve => cx.asks.take_back(&id, by, &how)?,
            _ => cx.asks.answer(&id, approve, by, &how)?,
        };
        cx.log.note_ask("ask answered", cx.peer, &ask)?;
        Ok(ask)
    }
}
