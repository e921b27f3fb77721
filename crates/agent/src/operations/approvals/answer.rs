//! An approver's answer, signed with an enrolled key.

use crate::{
    approvers::{Decision, SignedAnswer},
    asks::Ask,
    context::Context,
    log::ATTEMPTS,
    operations::Operation,
    peer::Callers,
};
use base::error::ToolError;
use serde_json::json;
use std::time::Duration;

/// Accepted from anybody: the signature counts, not who carries it.
pub struct AnswerSigned;

impl Operation for AnswerSigned {
    const TAG: &'static str = "answer_signed";
    const ANSWER: &'static str = "ask";
    const CALLERS: Callers = Callers::Carriers;
    type Request = SignedAnswer;
    type Answer = Ask;

    async fn run(cx: &Context<'_>, answer: SignedAnswer) -> Result<Ask, ToolError> {
        let asked = cx.asks.wait(&answer.ask, Duration::ZERO).await?;
        let approver = cx.approvers.judge(&asked, &answer, &cx.policy().approver_kinds).inspect_err(|error| {
            cx.log.attempt(
                "signed answer refused",
                cx.peer,
                ATTEMPTS,
                || json!({ "ask_id": asked.id, "key": answer.key, "kind": answer.kind, "reason": error.message }),
            );
        })?;
        let how = format!("{} key {}", answer.kind.name(), answer.key);
        let ask = cx.asks.answer(&asked.id, answer.decision == Decision::Approve, &approver.name, &how)?;
        cx.log.note_ask("ask answered", cx.peer, &ask)?;
        Ok(ask)
    }
}
