//! `/approvals/`: carries signed asks to approvers and their signed answers back; `/owner`: signed orders of the owner
//! (docs/approvals.md).
//!
//! Needs no token: the agent shows asks only to those who sign for it, and an answer or order counts by its signature
//! alone. Only `/approvals/enroll` does, by which an admin enrols the first approver with a code on the machine's screen.

use super::{
    App,
    exchange::{self, answered},
    not_allowed,
    refused::{AtTheDoor, record},
    signatures::WrongSignatures,
};
use agent::{
    AgentLink,
    approvers::{MAX_ORDER, NewApprover, SignedAnswer, SignedOrder},
    operations::approvals::{
        AnswerSigned, DescribeDevice, DeviceRequest, EnrollApprover, EnrollRequest, ListSigned, ListSignedRequest,
        PerformOrder,
    },
};
use axum::{
    body::Body,
    extract::Request,
    http::{Method, Response},
};
use base::error::ToolError;
use contract::{access::caller::Caller, meta::Role};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json as object};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// What all paths about asks begin with.
const PREFIX: &str = "/approvals/";
/// Takes orders.
const OWNER: &str = "/owner";
/// Served to admins with a token, by the server's listener only.
pub(super) const ENROLL: &str = "/approvals/enroll";
/// An answer or a proof as JSON, in bytes.
const LONGEST_BODY: usize = 4096;

/// Whether the request is one for [`answer`].
pub fn is_at(path: &str) -> bool {
    path == OWNER || path.starts_with(PREFIX)
}

/// Answers one request to such a path, which came from `from`. Its body must be complete within `patience`.
pub async fn answer(
    agent: &AgentLink,
    wrong: &WrongSignatures,
    from: IpAddr,
    patience: Duration,
    request: Request,
) -> Response<Body> {
    let path = request.uri().path();
    let path = path.strip_prefix(PREFIX).unwrap_or(path).to_owned();
    let allowed = if path == "device" { Method::GET } else { Method::POST };
    if ["device", "list", "answer", OWNER].contains(&path.as_str()) && *request.method() != allowed {
        return not_allowed(if path == "device" { "GET" } else { "POST" });
    }
    match carried(agent, patience, &path, request).await {
        Ok(answer) => answered(Ok(answer)),
        Err(error) => wrong.refused(from, error),
    }
}

async fn carried(agent: &AgentLink, patience: Duration, path: &str, request: Request) -> Result<Value, ToolError> {
    match path {
        "device" => value(agent.call::<DescribeDevice>(DeviceRequest::default()).await?),
        "list" => {
            let asked: ListSignedRequest = read(patience, LONGEST_BODY, request).await?;
            if asked.proof.is_none() {
                return Err(ToolError::invalid("a list of asks needs a proof").with("name", "proof"));
            }
            value(agent.call::<ListSigned>(asked).await?)
        }
        "answer" => {
            let answer: SignedAnswer = read(patience, LONGEST_BODY, request).await?;
            value(agent.call::<AnswerSigned>(answer).await?.state)
        }
        OWNER => {
            let order: SignedOrder = read(patience, MAX_ORDER, request).await?;
            agent.call::<PerformOrder>(order).await
        }
        _ => Err(ToolError::not_found("there is nothing at this path")
            .hint("GET /approvals/device, POST /approvals/list, POST /approvals/answer, POST /owner")),
    }
}

/// Nothing, to ask for a code; or the code with the approver.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Enrolment {
    code: Option<String>,
    approver: Option<NewApprover>,
}

/// Answers an authenticated `POST /approvals/enroll`, after the audit record is stored.
pub(super) async fn enroll(app: &App, request: Request) -> Response<Body> {
    let caller = request.extensions().get::<Arc<Caller>>().cloned();
    let Some(caller) = caller.filter(|caller| caller.role == Role::Admin && !caller.is_anonymous()) else {
        return answered(Err(ToolError::denied("an approver is enrolled with an admin's bearer token")
            .with("required_role", "admin")
            .hint("send `Authorization: Bearer rmcp_…` with a token of role admin")));
    };
    let outcome = enrolled(app, request, &caller.principal).await;
    let at =
        AtTheDoor { tool: "access.enroll", changed: outcome.as_ref().is_ok_and(|done| done["device"].is_object()) };
    let error = outcome.as_ref().err().map(|error| (error.code, error.message.as_str()));
    record(&app.server, at, object!({ "by": caller.principal }), error).await;
    answered(outcome)
}

async fn enrolled(app: &App, request: Request, by: &str) -> Result<Value, ToolError> {
    let empty = axum::body::HttpBody::size_hint(request.body()).exact() == Some(0);
    let brought = if empty { Enrolment::default() } else { read(app.body_timeout, LONGEST_BODY, request).await? };
    let Enrolment { code, approver } = brought;
    let request = EnrollRequest { by: by.to_owned(), code, approver };
    value(app.server.pipeline.services.agent.call::<EnrollApprover>(request).await?)
}

fn value(answer: impl Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(answer).map_err(|error| ToolError::internal(format!("the answer is no JSON: {error}")))
}

async fn read<T: DeserializeOwned>(patience: Duration, longest: usize, request: Request) -> Result<T, ToolError> {
    let bytes = exchange::read("the request", patience, longest, request).await?;
    serde_json::from_slice(&bytes).map_err(|error| ToolError::invalid(format!("the request cannot be read: {error}")))
}
