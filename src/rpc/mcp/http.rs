//! rmcp's Streamable HTTP service. It receives requests that the router has read and checked.

use super::{handler::McpHandler, sessions::Sessions};
use crate::rpc::{params::InitializeParams, router::Server};
use axum::{
    body::Body,
    http::{HeaderValue, Request, Response, header, request::Parts},
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
            Endpoint::Streamable => self.streamable.handle(request).map(|response| response.map(Body::new)).boxed(),
            Endpoint::Plain => self.plain.handle(request).map(|response| response.map(Body::new)).boxed(),
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

/// rmcp requires both media types. A client that accepts everything (curl) or sends no header accepts both.
fn accept_both(parts: &mut Parts) {
    let accepts_all = match parts.headers.get(header::ACCEPT) {
        None => true,
        Some(value) => value.as_bytes() == b"*/*",
    };
    if accepts_all {
        parts.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}
