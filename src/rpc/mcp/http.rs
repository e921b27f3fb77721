//! rmcp's Streamable HTTP service. It receives requests that the router has read and checked.

use super::{handler::McpHandler, sessions::Sessions};
use crate::rpc::{
    envelope::{INVALID_REQUEST, RpcError},
    params::InitializeParams,
    router::Server,
};
use axum::{
    body::Body,
    http::{HeaderValue, Request, Response, StatusCode, header, request::Parts},
};
use bytes::Bytes;
use contract::access::caller::Caller;
use futures::{FutureExt, future::BoxFuture};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use std::{sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Longest text of a refusal of rmcp's that is quoted, in bytes.
const LONGEST_REFUSAL: usize = 4096;

/// The header Accept as rmcp wants it.
const BOTH: &str = "application/json, text/event-stream";

/// The header that names a session.
pub const SESSION_ID: &str = "mcp-session-id";

/// rmcp over HTTP: with sessions for the revisions that have them, without for `/api/mcp`.
pub struct McpHttp {
    streamable: StreamableHttpService<McpHandler, Sessions>,
    plain: StreamableHttpService<McpHandler, NeverSessionManager>,
    pub sessions: Arc<Sessions>,
    /// Ends every event stream.
    pub streams: CancellationToken,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/mcp`
    Streamable,
    /// `/api/mcp`: one request, one JSON answer, no state.
    Plain,
}

impl McpHttp {
    pub fn new(server: &Arc<Server>, session_limit: usize, session_idle: Duration) -> Self {
        let sessions = Arc::new(Sessions::new(session_limit, session_idle));
        // Host, Origin and size were already checked against this server's own lists.
        let streams = CancellationToken::new();
        let config = || {
            StreamableHttpServerConfig::default()
                .disable_allowed_hosts()
                .with_max_request_body_bytes(server.options.request_bytes)
                .with_cancellation_token(streams.child_token())
        };
        let (conversing, plain) = (Arc::clone(server), Arc::clone(server));
        Self {
            streamable: StreamableHttpService::new(
                move || Ok(McpHandler::new(Arc::clone(&conversing))),
                Arc::clone(&sessions),
                config(),
            ),
            plain: StreamableHttpService::new(
                move || Ok(McpHandler::plain(Arc::clone(&plain))),
                Arc::new(NeverSessionManager::default()),
                config().with_legacy_session_mode(false).with_json_response(true),
            ),
            sessions,
            streams: streams.clone(),
            tasks: server.tasks.clone(),
            stop: server.stop.clone(),
        }
    }

    /// Forwards a request whose body was read. Boxed: rmcp's futures are large, and would otherwise enlarge the future
    /// of every tool call.
    pub fn handle(
        &self,
        endpoint: Endpoint,
        mut parts: Parts,
        body: Bytes,
        caller: &Arc<Caller>,
    ) -> BoxFuture<'_, Response<Body>> {
        accept_both(&mut parts);
        parts.extensions.insert(Arc::clone(caller));
        parts.extensions.insert(endpoint);
        let request = Request::from_parts(parts, Full::new(body));
        match endpoint {
            Endpoint::Streamable => self.streamable.handle(request).then(as_json_rpc).boxed(),
            Endpoint::Plain => self.plain.handle(request).then(as_json_rpc).boxed(),
        }
    }

    /// Forwards `initialize` and registers the session that it opens.
    pub async fn initialize(
        &self,
        parts: Parts,
        body: Bytes,
        caller: &Arc<Caller>,
        params: Option<InitializeParams>,
    ) -> Response<Body> {
        let response = self.handle(Endpoint::Streamable, parts, body, caller).await;
        if let Some(id) = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()) {
            self.sessions.opened(id, caller, params);
            if self.sessions.wants_reaper() {
                let reap = Arc::clone(&self.sessions).reap();
                base::task::spawn_on(&self.tasks, self.stop.clone().run_until_cancelled_owned(reap));
            }
        }
        response
    }
}

/// rmcp requires both media types by name. A client that sends no header accepts both; so does one that names ranges which have
/// them (RFC 9110, section 12.5.1): `*/*` of curl, `application/*, text/*`.
fn accept_both(parts: &mut Parts) {
    if parts.headers.get(header::ACCEPT).is_some_and(|value| value == BOTH) {
        return;
    }
    let (mut json, mut events, mut is_sent) = (false, false, false);
    for value in parts.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
        is_sent = true;
        for range in value.split(',') {
            let range = range.split(';').next().unwrap_or_default().trim();
            let is_one_of = |kinds: [&str; 3]| kinds.iter().any(|kind| range.eq_ignore_ascii_case(kind));
            json |= is_one_of(["application/json", "application/*", "*/*"]);
            events |= is_one_of(["text/event-stream", "text/*", "*/*"]);
        }
    }
    if !is_sent || (json && events) {
        parts.headers.insert(header::ACCEPT, HeaderValue::from_static(BOTH));
    }
}

/// rmcp refuses some requests in plain text (406, 415 and others); clients look for a JSON-RPC error.
async fn as_json_rpc<B>(response: Response<B>) -> Response<Body>
where
    B: axum::body::HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let response = response.map(Body::new);
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !(status.is_client_error() || status.is_server_error())
        || kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
    {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let said = axum::body::to_bytes(body, LONGEST_REFUSAL).await.unwrap_or_default();
    let mut fault =
        RpcError::new(None, INVALID_REQUEST, format!("Invalid Request: {}", String::from_utf8_lossy(&said).trim()));
    if parts.status == StatusCode::NOT_ACCEPTABLE {
        fault = fault.with("hint", "send Accept: application/json, text/event-stream");
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(fault.reply()))
}
