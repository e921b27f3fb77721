//! `/approvals/`: carries signed asks to approvers and their signed answers back; `/owner`: signed orders of the owner
//! (docs/approvals.md).
//!
//! Needs no token: the agent shows asks only to those who sign for it, and an answer or order counts by its signature
//! alone.

use super::{
    body::{self, Unread},
    not_allowed,
    post::{self, closing, json},
};
use agent::{
    AgentLink,
    approvers::{MAX_ORDER, SignedAnswer, SignedOrder},
    operations::approvals::{AnswerSigned, DescribeDevice, DeviceRequest, ListSigned, ListSignedRequest, PerformOrder},
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Method, Response, StatusCode, header},
};
use base::error::{ErrorCode, ToolError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::time::Duration;

/// What all paths about asks begin with.
const PREFIX: &str = "/approvals/";
/// Takes orders.
const OWNER: &str = "/owner";
/// An answer or a proof as JSON, in bytes.
const LONGEST_BODY: usize = 4096;

/// Whether the request is one for [`answer`].
pub fn is_at(path: &str) -> bool {
    path == OWNER || path.starts_with(PREFIX)
}

/// Answers one request to such a path. Its body must be complete within `patience`.
pub async fn answer(agent: &AgentLink, patience: Duration, request: Request) -> Response<Body> {
    let path = request.uri().path();
    let path = path.strip_prefix(PREFIX).unwrap_or(path).to_owned();
    let allowed = if path == "device" { Method::GET } else { Method::POST };
    if ["device", "list", "answer", OWNER].contains(&path.as_str()) && *request.method() != allowed {
        return not_allowed(if path == "device" { "GET" } else { "POST" });
    }
    match carried(agent, patience, &path, request).await {
        Ok(answer) => {
            let mut response = json(StatusCode::OK, answer.to_string().into_bytes());
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(error) => {
            let status = StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::FORBIDDEN);
            let response = post::refuse(status, &error);
            // The rest of the body is not read.
            if error.code == ErrorCode::ContentTooLarge { closing(response) } else { response }
        }
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

fn value(answer: impl Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(answer).map_err(|error| ToolError::internal(format!("the answer is no JSON: {error}")))
}

async fn read<T: DeserializeOwned>(patience: Duration, longest: usize, request: Request) -> Result<T, ToolError> {
    let (parts, body) = request.into_parts();
    // Which no page of another origin can send without asking first.
    if !post::is_json(&parts) {
        return Err(ToolError::invalid("Content-Type must be application/json"));
    }
    let bytes = body::read(body, longest, patience).await.map_err(|unread| match unread {
        Unread::TooLong => {
            ToolError::new(ErrorCode::ContentTooLarge, format!("the request has {longest} bytes at most"))
        }
        Unread::TooSlow => ToolError::timeout("reading the request", patience),
        Unread::Broken => ToolError::invalid("the request broke off"),
    })?;
    serde_json::from_slice(&bytes).map_err(|error| ToolError::invalid(format!("the request cannot be read: {error}")))
}
