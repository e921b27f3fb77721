//! HTTP: `/mcp` (Streamable HTTP), `/api/mcp` (plain JSON-RPC POST, document 003), `/ws`, `/healthz`.

mod body;
mod guard;
mod identify;
mod listen;
mod post;

pub use identify::identify;
pub use listen::{Listener, Options};

use crate::{
    access::caller::{Caller, Door},
    rpc::{
        door::Server,
        mcp::http::{Endpoint, McpHttp},
        running::Running,
    },
    transport::websocket,
};
use axum::{
    Router,
    body::Body,
    extract::{Request, State, WebSocketUpgrade},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    middleware::{self, Next},
    response::IntoResponse,
    routing::{any, get, post as on_post},
};
use std::{sync::Arc, time::Duration};

/// What the HTTP handlers share.
pub struct App {
    pub server: Arc<Server>,
    pub mcp: McpHttp,
    guard: guard::Guard,
    identify: Identify,
    body_timeout: Duration,
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
            running: Running::default(),
            server,
        })
    }

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/mcp", on_post(mcp_post).get(mcp_other).delete(mcp_other))
            .route("/api/mcp", on_post(api_post))
            .route("/ws", any(ws))
            .layer(middleware::from_fn_with_state(Arc::clone(&self), admit))
            .route("/healthz", get(healthz))
            .with_state(self)
    }
}

/// Host and Origin first, then who it is; the handlers find an `Arc<Caller>` in the extensions.
async fn admit(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response<Body> {
    if let Err(refusal) = app.guard.check(request.uri(), request.headers()) {
        return post::refuse(StatusCode::FORBIDDEN, &refusal);
    }
    match (app.identify)(request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(Arc::new(caller));
            next.run(request).await
        }
        Err(error) => {
            let mut response = post::refuse(StatusCode::UNAUTHORIZED, &error);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    }
}

async fn mcp_post(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    post::serve(&app, Endpoint::Streamable, request).await
}

async fn api_post(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    post::serve(&app, Endpoint::Plain, request).await
}

/// GET opens the stream of a session, DELETE ends it: both are rmcp's.
async fn mcp_other(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    post::pass(&app, request).await
}

async fn ws(State(app): State<Arc<App>>, upgrade: WebSocketUpgrade, request: Request) -> Response<Body> {
    let Some(caller) = request.extensions().get::<Arc<Caller>>() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let caller = Caller { door: Door::Ws, ..(**caller).clone() };
    websocket::upgrade(Arc::clone(&app.server), caller, upgrade)
}

/// For probes and load balancers: the process serves. Says nothing about the machine.
async fn healthz(State(app): State<Arc<App>>) -> Response<Body> {
    if app.server.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    "ok\n".into_response()
}
