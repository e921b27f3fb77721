//! Withdraws an ask whose caller is gone.

use crate::{asks::Ask, context::Context, log::ATTEMPTS, operations::Operation};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::WithdrawAsk")]
pub struct WithdrawRequest {
    pub id: String,
}

/// Closes an ask that was not answered.
pub struct WithdrawAsk;

impl Operation for WithdrawAsk {
    const TAG: &'static str = "withdraw_ask";
    const ANSWER: &'static str = "ask";
    type Request = WithdrawRequest;
    type Answer = Ask;

    async fn run(cx: &Context<'_>, request: WithdrawRequest) -> Result<Ask, ToolError> {
        let ask = cx.asks.withdraw(&request.id)?;
        cx.log.attempt("ask withdrawn", cx.peer, ATTEMPTS, || cx.log.about_ask(&ask));
        Ok(ask)
    }
}
