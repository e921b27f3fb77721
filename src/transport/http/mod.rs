//! HTTP: `/mcp` (Streamable HTTP), `/api/mcp` (plain JSON-RPC POST, document 003), `/ws`, `/healthz`,
//! `/metrics`.

mod body;
mod guard;
mod identify;
mod listen;
mod metrics;
mod post;

pub use identify::identify;
pub use listen::{Listener, Options};

use crate::{
    access::caller::{Caller, Door},
    error::ToolError,
    metrics::Refused,
    rpc::{
        connection::PARTING,
        door::Server,
        mcp::http::{Endpoint, McpHttp},
        running::Running,
    },
    transport::websocket,
};
use axum::{
    body::Body,
    extract::{FromRequestParts, Request, WebSocketUpgrade},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
    response::IntoResponse,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// What the HTTP handlers share.
pub struct App {
    pub server: Arc<Server>,
    pub mcp: McpHttp,
    guard: guard::Guard,
    identify: Identify,
    body_timeout: Duration,
    /// Whether there is a `/metrics`.
    metrics: bool,
    /// Calls that run for somebody, by who and request id, so that a cancellation in another request finds them.
    running: Running,
}

/// Says who sent a request: by its token, or as an anonymous peer of the loopback interface.
pub type Identify = Box<dyn Fn(&HeaderMap) -> Result<Caller, crate::error::ToolError> + Send + Sync>;

impl App {
    pub fn new(server: Arc<Server>, options: &Options, identify: Identify) -> Arc<Self> {
        let mcp = McpHttp::new(&server, options.session_limit, options.session_idle);
        Arc::new(Self {
            mcp,
            guard: guard::Guard::new(&options.allowed_hosts, &options.allowed_origins),
            identify,
            body_timeout: options.body_timeout,
            metrics: options.metrics,
            running: Running::default(),
            server,
        })
    }

    /// After the stop: lets what runs finish, cancels what does not within the grace, then ends the event streams.
    pub(super) async fn drain(&self) {
        if timeout(self.server.options.grace, self.running.emptied()).await.is_err() {
            self.running.cancel_all();
            // Their answers are on the way; who does not read them does not get them.
            let _ = timeout(PARTING, self.running.emptied()).await;
        }
        self.mcp.streams.cancel();
    }

    /// Answers one request. By hand: four paths need no router, and a router's boxes cost more than the answer.
    pub(super) async fn answer(self: Arc<Self>, request: Request) -> Response<Body> {
        let probe = matches!(*request.method(), Method::GET | Method::HEAD);
        if request.uri().path() == "/healthz" {
            return if probe { self.health() } else { not_allowed("GET, HEAD") };
        }
        let request = match self.admit(request) {
            Ok(request) => request,
            Err(refusal) => return *refusal,
        };
        match (request.uri().path(), request.method().as_str()) {
            ("/mcp", "POST") => post::serve(&self, Endpoint::Streamable, request).await,
            // GET opens the stream of a session, DELETE ends it: both are rmcp's.
            ("/mcp", "GET" | "DELETE") => post::pass(&self, request).await,
            ("/mcp", _) => not_allowed("GET, POST, DELETE"),
            ("/api/mcp", "POST") => post::serve(&self, Endpoint::Plain, request).await,
            ("/api/mcp", _) => not_allowed("POST"),
            ("/ws", _) => ws(&self, request).await,
            ("/metrics", _) if self.metrics && !probe => not_allowed("GET, HEAD"),
            ("/metrics", _) if self.metrics => metrics::page(&self).await,
            _ => post::refuse(
                StatusCode::NOT_FOUND,
                &ToolError::not_found("there is nothing at this path")
                    .hint("MCP is at /mcp, plain JSON-RPC at /api/mcp, WebSocket at /ws"),
            ),
        }
    }

    /// Host and Origin first, then who it is; the handlers find an `Arc<Caller>` in the extensions.
    fn admit(&self, mut request: Request) -> Result<Request, Box<Response<Body>>> {
        let counts = &self.server.metrics;
        if let Err(refusal) = self.guard.check(request.uri(), request.headers()) {
            counts.refused(Refused::Origin);
            return Err(Box::new(post::refuse(StatusCode::FORBIDDEN, &refusal)));
        }
        let caller = (self.identify)(request.headers()).map_err(|error| {
            counts.refused(Refused::Unauthenticated);
            let mut response = post::refuse(StatusCode::UNAUTHORIZED, &error);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            Box::new(response)
        })?;
        request.extensions_mut().insert(Arc::new(caller));
        Ok(request)
    }

    /// For probes and load balancers: the process serves. Says nothing about the machine.
    fn health(&self) -> Response<Body> {
        if self.server.stop.is_cancelled() {
            return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
        }
        "ok\n".into_response()
    }
}

async fn ws(app: &App, request: Request) -> Response<Body> {
    let (mut parts, _) = request.into_parts();
    let Some(caller) = parts.extensions.get::<Arc<Caller>>() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let caller = Caller { door: Door::Ws, ..(**caller).clone() };
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => websocket::upgrade(Arc::clone(&app.server), caller, upgrade),
        Err(refusal) => refusal.into_response(),
    }
}

fn not_allowed(allow: &'static str) -> Response<Body> {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allow)]).into_response()
}
