//! Asking a person, out of band: the agent holds the question, `raspi-mcp approve` answers it.
//!
//! The call waits a while; when nobody has answered by then it fails with a hint, the question stands, and the same call
//! made again by the same caller finds the answer.

use super::{canonical, redact};
use crate::{
    agent::{AgentLink, Ask as Question, AskRequest, AskState, policy::AGENT_TOOLS},
    error::ToolError,
    registry::pipeline::{Approval, Ask, Gate},
};
use futures::future::BoxFuture;
use std::time::Duration;

/// The pipeline's gate, with the agent behind it.
pub struct Asking {
    pub agent: AgentLink,
    /// How long a call waits for its answer.
    pub patience: Duration,
}

impl Gate for Asking {
    fn approve<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Approval, ToolError>> {
        Box::pin(self.put(ask))
    }
}

impl Asking {
    async fn put(&self, ask: Ask<'_>) -> Result<Approval, ToolError> {
        let tool = ask.entry.name();
        let args_sha256 = canonical::sha256_hex(ask.args);
        let question = self
            .agent
            .open_ask(AskRequest {
                tool: tool.to_owned(),
                summary: format!("{} asks for {tool}: {}", ask.caller.principal, ask.entry.meta.title),
                args: redact::redact(ask.args),
                args_sha256: args_sha256.clone(),
                principal: ask.caller.principal.clone(),
            })
            .await?;
        ask.progress.say(0.0, None, "approval", format!("waiting for a person: raspi-mcp approve {}", question.id));
        let answered = match question.state {
            AskState::Pending => self.agent.ask_state(&question.id, self.patience).await?,
            _ => question,
        };
        match answered.state {
            AskState::Approved if AGENT_TOOLS.contains(&tool) => {
                // The agent uses the approval up itself, when it is given the operation.
                Ok(Approval {
                    ask_id: answered.id,
                    by: answered.by.unwrap_or_default(),
                    how: answered.how.unwrap_or_default(),
                })
            }
            AskState::Approved => {
                let by = self.agent.redeem_ask(&answered.id, tool, &ask.caller.principal, &args_sha256).await?;
                Ok(Approval { ask_id: by.ask_id, by: by.by, how: by.how })
            }
            AskState::Pending => Err(unanswered(tool, &answered)),
            AskState::Denied => {
                Err(ToolError::denied(format!("{} said no to {tool}", answered.by.as_deref().unwrap_or("a person")))
                    .with("ask_id", answered.id)
                    .hint("do not try again unless the person asks you to"))
            }
            AskState::Withdrawn | AskState::Expired | AskState::Consumed => {
                Err(ToolError::precondition(format!("the approval for {tool} has expired"))
                    .with("ask_id", answered.id)
                    .hint("call again to ask again"))
            }
        }
    }
}

fn unanswered(tool: &str, question: &Question) -> ToolError {
    ToolError::precondition(format!("{tool} needs a person's approval, and nobody has answered yet"))
        .with("ask_id", question.id.clone())
        .with("expires", crate::access::audit::rfc3339(question.expires_ms))
        .hint(format!(
            "tell the person to run `raspi-mcp approve {}` on the device, then make the same call again",
            question.id
        ))
}
