//! One JSON request with one JSON answer, outside MCP: `/claim`, `/approvals/` and `/owner`.

use super::{
    body::{self, Unread},
    post::{self, closing, json},
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Response, StatusCode, header},
};
use base::error::{ErrorCode, ToolError};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;

/// Reads the body of `what`, such as "a claim": JSON of at most `longest` bytes, complete within `patience`.
///
/// # Errors
/// `invalid_argument` for another type or a body that broke off, `content_too_large`, `timeout`.
pub(super) async fn read(what: &str, patience: Duration, longest: usize, request: Request) -> Result<Bytes, ToolError> {
    let (parts, body) = request.into_parts();
    // No page of another origin can send this type without asking first.
    if !post::is_json(&parts) {
        return Err(ToolError::invalid("Content-Type must be application/json"));
    }
    body::read(body, longest, patience).await.map_err(|unread| match unread {
        Unread::TooLong => ToolError::new(ErrorCode::ContentTooLarge, format!("{what} has {longest} bytes at most")),
        Unread::TooSlow => ToolError::timeout("reading the request", patience),
        Unread::Broken => ToolError::invalid("the request broke off"),
    })
}

/// The answer, which nobody may store.
pub(super) fn answered(outcome: Result<Value, ToolError>) -> Response<Body> {
    match outcome {
        Ok(answer) => {
            let mut response = json(StatusCode::OK, answer.to_string().into_bytes());
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(error) => {
            let response = refused(&error);
            // The rest of the body is not read.
            if error.code == ErrorCode::ContentTooLarge { closing(response) } else { response }
        }
    }
}

/// A refusal with the HTTP status of its code.
pub(super) fn refused(error: &ToolError) -> Response<Body> {
    post::refuse(StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::FORBIDDEN), error)
}
