//! Opens an ask, or returns an equal one that is still open.

use crate::{
    asks::{Ask, AskRequest},
    context::Context,
    log::ATTEMPTS,
    machine::PowerAction,
    operations::Operation,
};
use base::error::ToolError;

/// Refuses an ask for a call that the agent would refuse anyway, such as one that a halt stops.
pub struct OpenAsk;

impl Operation for OpenAsk {
    const TAG: &'static str = "open_ask";
    const ANSWER: &'static str = "ask";
    type Request = AskRequest;
    type Answer = Ask;

    async fn run(cx: &Context<'_>, request: AskRequest) -> Result<Ask, ToolError> {
        cx.halt.check(&request.tool)?;
        cx.policy().check_ask(&request.tool, &request.args)?;
        if PowerAction::ALL.iter().any(|action| action.tool() == request.tool) {
            cx.power.check()?;
        }
        let (ask, new) = cx.asks.open(request)?;
        if new {
            cx.log.attempt("ask opened", cx.peer, ATTEMPTS, || cx.log.about_ask(&ask));
        }
        Ok(ask)
    }
}
