//! The answer to unauthenticated callers, and its audit record.

use super::{App, authenticator::AuthenticationError, peer::PeerAddress, post};
use crate::{
    authentication::refusals::{RefusalCount, SourceNetwork, WINDOW},
    rpc::router::Server,
};
use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use base::{
    canonical, clock,
    error::{ErrorCode, ToolError},
};
use contract::audit::AuditRecord;
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};
use time::OffsetDateTime;

/// Stands for the tool in the audit record of an unauthenticated request, and whether something changed.
pub(super) struct AtTheDoor {
    pub tool: &'static str,
    pub changed: bool,
}

/// For refused credentials.
const REFUSED: AtTheDoor = AtTheDoor { tool: "access.authenticate", changed: false };

/// Answers after the audit record is stored: 401 with a challenge, 403 for a known caller without a role, 429 for too
/// many.
pub(super) async fn answer(app: &Arc<App>, unknown: AuthenticationError, peer: PeerAddress) -> Response<Body> {
    let told = app.refusals.note(peer.address, unknown.reason(), !unknown.is_missing(), Instant::now());
    if told.record {
        let args = json!({ "address": SourceNetwork::of(peer.address).to_string(), "reason": unknown.reason() });
        record(&app.server, REFUSED, args, Some((unknown.error().code, unknown.sentence()))).await;
    }
    if told.opens {
        gather_later(app);
    }
    if let Some(wait) = told.wait {
        let seconds = wait.as_secs_f64().ceil() as u64;
        let error = ToolError::exhausted("too many tokens from this address were not accepted")
            .with("retry_after_ms", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
            .hint("check which token the client sends; a right one is served at once");
        let mut response = post::refuse(StatusCode::TOO_MANY_REQUESTS, &error);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return response;
    }
    let error = unknown.error();
    let status = StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::UNAUTHORIZED);
    let mut response = post::refuse(status, &error);
    if let Ok(challenge) = HeaderValue::from_str(&challenge(unknown, app.metadata_url())) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// RFC 6750, 3: no error code if nothing was presented; RFC 9728, 5.1: where to learn who issues tokens.
fn challenge(unknown: AuthenticationError, metadata_url: Option<&str>) -> String {
    let mut text = String::from("Bearer realm=\"raspi-mcp\"");
    if !unknown.is_missing() {
        let error = match unknown.error().code {
            ErrorCode::PermissionDenied => "insufficient_scope",
            _ => "invalid_token",
        };
        text.push_str(&format!(", error=\"{error}\", error_description=\"{}\"", unknown.sentence()));
    }
    if let Some(url) = metadata_url {
        text.push_str(&format!(", resource_metadata=\"{url}\""));
    }
    text
}

/// Schedules recording of the counted refusals at the end of the window.
pub(super) fn gather_later(app: &Arc<App>) {
    let app = Arc::clone(app);
    base::task::spawn_on(&app.server.tasks.clone(), async move { gather(&app).await });
}

/// Waits for the end of the window or the server's stop, and records its refusals: one record for each network.
async fn gather(app: &App) {
    let server = &app.server;
    let _ = tokio::time::timeout(WINDOW, server.stop.cancelled()).await;
    for RefusalCount { network, refused, reasons } in app.refusals.gathered() {
        let address = network.map_or_else(|| "others".to_owned(), |network| network.to_string());
        let message = format!("{refused} more requests without an accepted token");
        let args = json!({ "address": address, "refused": refused, "reasons": reasons });
        record(server, REFUSED, args, Some((ErrorCode::Unauthenticated, &message))).await;
    }
}

/// Records a request of an unauthenticated caller; `outcome` is `None` if it succeeded.
pub(super) async fn record(server: &Server, at: AtTheDoor, args: Value, outcome: Option<(ErrorCode, &str)>) {
    let record = AuditRecord {
        ts_ms: clock::millis(OffsetDateTime::now_utc()),
        intent: None,
        principal: "anonymous".into(),
        owner: None,
        role: None,
        door: "http",
        tool: at.tool.into(),
        by: None,
        args_sha256: canonical::sha256_hex(&args).into(),
        args,
        outcome: outcome.map_or("ok", |(code, _)| code.symbol()),
        message: outcome.map(|(_, message)| message.into()),
        duration_ms: 0,
        request_id: None,
        correlation_id: None,
        approval: None,
        simulated: false,
        changed: at.changed.into(),
        later: false,
    };
    if let Err(error) = server.pipeline.services.audit.write(record).await {
        // The caller is refused anyway: nothing was done that requires a record first.
        tracing::error!(target: "audit", %error, "a refusal at the door could not be recorded");
    }
}
