//! The trait of an operation: the types of its request and answer, its callers, and its implementation.

use crate::{context::Context, peer::Callers};
use base::error::ToolError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{future::Future, time::Duration};

/// One thing that the agent can be asked to do.
///
/// It travels as `{"id": 7, "op": {TAG: request}}`, its answer as `{"id": 7, "ok": {ANSWER: answer}}`. A new one is a file
/// with this implementation and a row of [`super::OPERATIONS`].
pub trait Operation: Sized + 'static {
    /// Its name on the wire.
    const TAG: &'static str;
    /// The name of its answer on the wire; several operations may share one, which then has one type.
    const ANSWER: &'static str;
    /// Who may request it.
    const CALLERS: Callers = Callers::Server;
    /// Whether it may take long. Then it does not hold up later requests, and ends with its connection.
    const WAITS: bool = false;
    /// Whether it changes the machine, so that a lost answer leaves the outcome unknown.
    const CHANGES: bool = false;

    /// Its fields on the wire; unknown ones are refused.
    type Request: Serialize + DeserializeOwned + Send + Sync + 'static;
    type Answer: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Its name in refusals, where that depends on the request.
    fn name(_request: &Self::Request) -> &'static str {
        Self::TAG
    }

    /// How long the client waits beyond the limit of short operations ([`crate::Client`]).
    fn patience(_request: &Self::Request) -> Duration {
        Duration::ZERO
    }

    /// Whether a person who was shown a call with `args` approved this very request. The agent does what was shown,
    /// whatever hash the server sends. The default never approves.
    fn was_shown(_request: &Self::Request, _args: &Value) -> bool {
        false
    }

    /// Judges it by the agent's own policy, performs it, and logs it. The caller's right to request it was checked
    /// already.
    ///
    /// # Errors
    /// The operation's own; `permission_denied` by the policy, or without the required approval.
    fn run(cx: &Context<'_>, request: Self::Request) -> impl Future<Output = Result<Self::Answer, ToolError>> + Send;
}
