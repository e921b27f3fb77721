//! Out-of-band approval: the agent holds the question, `raspi-mcp approve` answers it.
//!
//! The call waits for a limited time. If it is not answered by then, the call fails with a hint and the question stays
//! open. The same caller finds the answer by repeating the same call.

pub mod sealed;

use crate::{
    notifications::Notifications,
    registry::{
        context::ClientPeer,
        pipeline::{ApprovalSubject, Gate},
    },
};
use agent::{AgentLink, AgentPolicy, Ask as Question, AskRequest, AskState, operations::asks};
use base::error::ToolError;
use contract::{
    access::{caller::Caller, question, shares::is_admin, way},
    audit::ApprovalRecord,
    config::{
        AgentType,
        sections::agents::{is_command, of_tool},
    },
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Width of a question in a client's dialogue, in columns. The real width is unknown.
const ELICITED: usize = 80;
/// Key of the question in an `input_required` result, and of its answer in the repeated call.
const QUESTION: &str = "approval";

/// The pipeline's approval gate, backed by the agent.
pub struct Asking {
    pub agent: AgentLink,
    /// How long a call waits for an answer.
    pub patience: Duration,
    /// Clients whose elicitation counts as an approval, because they show it to their user. The agent has the same
    /// list.
    pub elicitation_clients: Vec<String>,
    /// Calls of those of kind `command` are the agent's operations too.
    pub agents: Vec<AgentType>,
    /// Told of each ask: its tool and its id, and nothing else of it.
    pub notifications: Notifications,
}

impl Gate for Asking {
    fn approve<'a>(&'a self, ask: ApprovalSubject<'a>) -> BoxFuture<'a, Result<ApprovalRecord, ToolError>> {
        Box::pin(self.put(ask))
    }
}

impl Asking {
    async fn put(&self, ask: ApprovalSubject<'_>) -> Result<ApprovalRecord, ToolError> {
        let tool = ask.entry.name();
        let (args, marks) = match ask.subject {
            // Shown whole, whatever the schema of the arguments says.
            Some(subject) => question::shown(tool, &Value::Null, &[], subject)?,
            None => question::shown(tool, &ask.entry.input_schema(), ask.entry.meta().bulk, ask.args)?,
        };
        let more = ask.entry.meta().explain.and_then(|explain| explain(ask.args)).or_else(|| self.program(tool));
        let more = more.map(|more| format!("; {more}")).unwrap_or_default();
        let question = self
            .agent
            .call::<asks::OpenAsk>(AskRequest {
                tool: tool.to_owned(),
                summary: format!("{} asks for {tool}: {}{more}", ask.caller.principal, ask.entry.meta().title),
                args,
                marks,
                args_sha256: ask.args_sha256.to_owned(),
                principal: ask.caller.principal.clone(),
                party: ask.caller.owner.is_some().then(|| ask.caller.party().into_owned()),
                admin: is_admin(ask.caller),
            })
            .await?;
        if question.state == AskState::Pending {
            self.notifications.ask_opened(tool, &question.id, question.expires_ms, ask.caller);
        }
        ask.progress.say(0.0, None, "approval", format!("waiting for a person: raspi-mcp approve {}", question.id));
        let answered = match question.state {
            AskState::Pending => self.wait(&question, &ask).await?,
            AskState::Approved => self.unless_refused(question, &ask).await?,
            _ => question,
        };
        match answered.state {
            AskState::Approved if AgentPolicy::is_operation(tool) || is_command(&self.agents, tool) => {
                // The agent consumes the approval itself when it receives the operation.
                Ok(ApprovalRecord {
                    ask_id: answered.id,
                    by: answered.by.unwrap_or_default(),
                    how: answered.how.unwrap_or_default(),
                })
            }
            AskState::Approved => {
                self.agent
                    .call::<asks::RedeemAsk>(asks::RedeemRequest {
                        id: answered.id,
                        tool: tool.to_owned(),
                        principal: ask.caller.principal.clone(),
                        args_sha256: ask.args_sha256.to_owned(),
                    })
                    .await
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
    /// What a call of an agent's tool runs.
    fn program(&self, tool: &str) -> Option<String> {
        let agent = of_tool(&self.agents, tool)?;
        Some(format!("it runs {}", agent.program.display()))
    }

    /// Waits for the first answer: from the console or, for a listed client, from the client's dialogue.
    async fn wait(&self, question: &Question, ask: &ApprovalSubject<'_>) -> Result<Question, ToolError> {
        let console = self.agent.call::<asks::AwaitAsk>(asks::AwaitRequest::new(&question.id, self.patience));
        let Some((peer, client)) = self.listed(ask) else { return console.await };
        if peer.is_asked_in_results() {
            return self.answered_in_call(peer.as_ref(), &client, question).await;
        }
        let mut console = std::pin::pin!(console);
        tokio::select! {
            answered = &mut console => answered,
            said = elicit(peer.as_ref(), question) => match said {
                Some(yes) => self.answer(question, yes, &client).await,
                // Dismissed or unsupported: the console can still answer.
                None => console.await,
            },
        }
    }

    /// Reports to the agent an answer given through the MCP client `client`.
    async fn answer(&self, question: &Question, approve: bool, client: &str) -> Result<Question, ToolError> {
        let request = asks::ElicitedRequest { id: question.id.clone(), approve, client: client.to_owned() };
        self.agent.call::<asks::AnswerElicited>(request).await
    }

    /// The client, if the owner listed it and it can show a question to its user.
    fn listed<'a>(&self, ask: &ApprovalSubject<'a>) -> Option<(&'a Arc<dyn ClientPeer>, String)> {
        let peer = ask.peer?;
        let name = peer.client_name().filter(|name| self.elicitation_clients.contains(name))?;
        shows_forms(peer.capabilities()).then_some((peer, name))
    }

    /// Keeps an approval from elsewhere, unless this call carries a refusal by the client's user, which overrides it.
    async fn unless_refused(&self, question: Question, ask: &ApprovalSubject<'_>) -> Result<Question, ToolError> {
        if let Some((peer, client)) = self.listed(ask).filter(|(peer, _)| peer.is_asked_in_results())
            && let Some(answer) = came_with(peer.as_ref(), &state(&question, &client))?
            && answered(answer) == Some(false)
        {
            return self.answer(&question, false, &client).await;
        }
        Ok(question)
    }

    /// The answer sent with the call, for clients of 2026-07-28. It counts only with the state that the question was
    /// sent with, and only while that question is open. A call with other arguments, by another caller, or repeated
    /// after its approval was used, is a new question.
    ///
    /// # Errors
    /// `failed_precondition` carrying the question to the client, if the call has no answer to it; -32602 for a
    /// `requestState` that was not sealed by this process.
    async fn answered_in_call(
        &self,
        peer: &dyn ClientPeer,
        client: &str,
        question: &Question,
    ) -> Result<Question, ToolError> {
        let state = state(question, client);
        match came_with(peer, &state)? {
            Some(answer) => match answered(answer) {
                Some(yes) => self.answer(question, yes, client).await,
                // Dismissed: the console can still answer, and the client is not asked again in this call.
                None => Ok(question.clone()),
            },
            None => {
                let request = json!({ "method": "elicitation/create", "params": dialogue(question) });
                let tool = &question.request.tool;
                Err(ToolError::precondition(format!("{tool} needs a person's approval; the client is to ask its user"))
                    .with("ask_id", question.id.clone())
                    .or_input(json!({
                        "resultType": "input_required",
                        "inputRequests": { QUESTION: request },
                        "requestState": sealed::seal(&state)?,
                    })))
            }
        }
    }
}

/// The state that is sent with a question and must be returned with its answer.
fn state(question: &Question, client: &str) -> Value {
    json!({
        "ask": question.id,
        "client": client,
        "principal": question.request.principal,
        "args_sha256": question.request.args_sha256,
    })
}

/// The answer sent with the call, if it belongs to the question with this state.
///
/// # Errors
/// -32602 for a `requestState` that was not sealed by this process.
fn came_with<'a>(peer: &'a dyn ClientPeer, state: &Value) -> Result<Option<&'a Value>, ToolError> {
    let sealed = peer.request_state().map(sealed::open).transpose()?;
    let answer = peer.input_responses().and_then(|responses| responses.get(QUESTION));
    Ok(answer.filter(|_| sealed.as_ref() == Some(state)))
}

/// Asks the client's user. `None`: no answer.
async fn elicit(peer: &dyn ClientPeer, question: &Question) -> Option<bool> {
    let answer = peer.ask("elicitation/create", dialogue(question)).await.inspect_err(|error| {
        tracing::warn!(%error, ask = question.id, "the client could not be asked for an approval");
    });
    answered(&answer.ok()?)
}

/// Whether the client can show a form. A client that lists no modes supports forms.
fn shows_forms(capabilities: &Value) -> bool {
    let modes = capabilities.get("elicitation").and_then(Value::as_object);
    modes.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// The parameters of `elicitation/create`.
fn dialogue(question: &Question) -> Value {
    json!({
        "message": format!("Allow this call, once?\n{}", question::lines(&question.request, ELICITED)),
        "requestedSchema": {
            "type": "object",
            "properties": { "allow": { "type": "boolean", "title": "Allow this call", "default": false } },
            "required": ["allow"],
        },
    })
}

/// The user's answer; `None` if the dialogue was dismissed or the answer is invalid.
fn answered(answer: &Value) -> Option<bool> {
    match answer["action"].as_str() {
        Some("accept") => Some(answer["content"]["allow"] == true),
        Some("decline") => Some(false),
        _ => None,
    }
}

fn unanswered(caller: &Caller, tool: &str, question: &Question) -> ToolError {
    ToolError::precondition(format!("{tool} needs a person's approval, and nobody has answered yet"))
        .with("ask_id", question.id.clone())
        .with("expires", contract::audit::rfc3339(question.expires_ms))
        .hint(way::to_an_approval(caller, &question.id))
}
