//! Who sent a request: by bearer token, or as an anonymous peer of the loopback interface.

use super::Identify;
use crate::{
    access::{
        caller::{Caller, Door},
        token,
    },
    config::Access,
    error::{ErrorCode, ToolError},
};
use axum::http::{HeaderMap, header};
use time::OffsetDateTime;

/// Judges by the tokens of the configuration. The listener is a loopback one, so a request without a token is a local
/// program's, and gets `access.loopback_role`.
pub fn identify(access: &Access) -> Identify {
    let (tokens, anonymous) = (access.tokens.clone(), access.loopback_role);
    Box::new(move |headers: &HeaderMap| {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return Ok(Caller::new("loopback", anonymous, Door::Http));
        };
        let presented = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let found = presented.and_then(|token| token::find(&tokens, token, OffsetDateTime::now_utc()));
        match found {
            Some(token) => Ok(Caller::new(format!("token:{}", token.name), token.role, Door::Http)),
            // A token that is not accepted is an error even here: falling back to less would hide it.
            None => Err(ToolError::new(
                ErrorCode::Unauthenticated,
                "the Authorization header holds no token of this server",
            )
            .hint("send `Authorization: Bearer rmcp_…` with a token from `raspi-mcp token new`, or no such header")),
        }
    })
}
