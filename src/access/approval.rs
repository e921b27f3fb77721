//! Asking a person, out of band: the agent holds the question, `raspi-mcp approve` answers it.
//!
//! The call waits a while; when nobody has answered by then it fails with a hint, the question stands, and the same call
//! made again by the same caller finds the answer.

use super::{caller::Caller, canonical, question, way};
use crate::{
    agent::{AgentLink, AgentPolicy, Ask as Question, AskRequest, AskState},
    error::ToolError,
    registry::{
        context::Peer,
        pipeline::{Approval, Ask, Gate},
    },
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::time::Duration;

/// Columns of a question in a client's dialogue, whose width nobody knows.
const ELICITED: usize = 80;

/// The pipeline's gate, with the agent behind it.
pub struct Asking {
    pub agent: AgentLink,
    /// How long a call waits for its answer.
    pub patience: Duration,
    /// Clients whose elicitation counts: their user answers in the client itself. The agent has the same list.
    pub elicitation_clients: Vec<String>,
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
        let (args, marks) = question::shown(tool, &ask.entry.input_schema(), ask.entry.meta.bulk, ask.args)?;
        let more = ask.entry.meta.explain.and_then(|explain| explain(ask.args));
        let more = more.map(|more| format!("; {more}")).unwrap_or_default();
        let question = self
            .agent
            .open_ask(AskRequest {
                tool: tool.to_owned(),
                summary: format!("{} asks for {tool}: {}{more}", ask.caller.principal, ask.entry.meta.title),
                args,
                marks,
                args_sha256: args_sha256.clone(),
                principal: ask.caller.principal.clone(),
            })
            .await?;
        ask.progress.say(0.0, None, "approval", format!("waiting for a person: raspi-mcp approve {}", question.id));
        let answered = match question.state {
            AskState::Pending => self.wait(&question, &ask).await?,
            _ => question,
        };
        match answered.state {
            AskState::Approved if AgentPolicy::is_deed(tool) => {
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
            AskState::Pending => Err(unanswered(ask.caller, tool, &answered)),
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

impl Asking {
    /// Waits for an answer at the console and, from a listed client, for one in the conversation: whichever is first.
    async fn wait(&self, question: &Question, ask: &Ask<'_>) -> Result<Question, ToolError> {
        let console = self.agent.ask_state(&question.id, self.patience);
        let listed = ask.peer.and_then(|peer| {
            let name = peer.client_name().filter(|name| self.elicitation_clients.contains(name))?;
            peer.capabilities().get("elicitation").is_some_and(Value::is_object).then_some((peer, name))
        });
        let Some((peer, client)) = listed else { return console.await };
        let mut console = std::pin::pin!(console);
        tokio::select! {
            answered = &mut console => answered,
            said = elicit(peer.as_ref(), question) => match said {
                Some(yes) => self.agent.answer_elicited(&question.id, yes, &client).await,
                // Dismissed, or the client cannot: the console still may answer.
                None => console.await,
            },
        }
    }
}

/// Puts the question to the client's user. `None`: no answer.
async fn elicit(peer: &dyn Peer, question: &Question) -> Option<bool> {
    let request = &question.request;
    let params = json!({
        "message": format!("Allow this call, once?\n{}", question::lines(request, ELICITED)),
        "requestedSchema": {
            "type": "object",
            "properties": { "allow": { "type": "boolean", "title": "Allow this call", "default": false } },
            "required": ["allow"],
        },
    });
    let answer = peer.ask("elicitation/create", params).await.inspect_err(|error| {
        tracing::warn!(%error, ask = question.id, "the client could not be asked for an approval");
    });
    let answer = answer.ok()?;
    match answer["action"].as_str() {
        Some("accept") => Some(answer["content"]["allow"] == true),
        Some("decline") => Some(false),
        _ => None,
    }
}

fn unanswered(caller: &Caller, tool: &str, question: &Question) -> ToolError {
    ToolError::precondition(format!("{tool} needs a person's approval, and nobody has answered yet"))
        .with("ask_id", question.id.clone())
        .with("expires", crate::access::audit::rfc3339(question.expires_ms))
        .hint(way::to_an_approval(caller, &question.id))
}
