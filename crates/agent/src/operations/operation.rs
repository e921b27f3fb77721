//! What an operation of the agent is: the types of its request and answer, who may ask for it, and what it does.

use crate::{context::Context, peer::Callers};
use base::error::ToolError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{future::Future, time::Duration};

/// One thing the agent can be asked to do.
///
/// It travels as `{"id": 7, "op": {TAG: request}}`, its answer as `{"id": 7, "ok": {ANSWER: answer}}`. A new one is a file
/// with this implementation and a row of [`super::OPERATIONS`].
pub trait Operation: Sized + 'static {
    /// Its name on the wire.
    const TAG: &'static str;
    /// The name of its answer on the wire; several operations may share one, which then has one type.
    const ANSWER: &'static str;
    /// Who may ask for it.
    const CALLERS: Callers = Callers::Server;
    /// Whether it may take its time: then it holds up nothing that comes after it, and ends with its connection.
    const WAITS: bool = false;
    /// Whether it does what a tool is called for, to the machine: what may have been done when its answer is lost.
    const CHANGES: bool = false;

    /// Its fields on the wire; unknown ones are refused.
    type Request: Serialize + DeserializeOwned + Send + Sync + 'static;
    type Answer: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// What it is called in refusals, where that depends on the request.
    fn name(_request: &Self::Request) -> &'static str {
        Self::TAG
    }

    /// How long the caller gives the agent beyond what every short operation has ([`crate::Client`]).
    fn patience(_request: &Self::Request) -> Duration {
        Duration::ZERO
    }

    /// Whether a person who was shown a call with `args` approved this very request. The agent does what was shown, whatever hash the
    /// server names. An operation that does not say so is never approved.
    fn was_shown(_request: &Self::Request, _args: &Value) -> bool {
        false
    }

    /// Judges it by the agent's own policy, does it, and writes it down. The peer may ask for it: that was checked.
    ///
    /// # Errors
    /// Its own; `permission_denied` by the policy, or without the approval that it asks for.
    fn run(cx: &Context<'_>, request: Self::Request) -> impl Future<Output = Result<Self::Answer, ToolError>> + Send;
}
