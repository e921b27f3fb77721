//! HTTP: `/mcp` (Streamable HTTP), `/api/mcp` (plain JSON-RPC POST), `/ws`, `/healthz`, `/metrics`, `/photos/`;
//! through TLS where the configuration says so. `/claim` is for machines that begin without an owner; `/` and `/page/` are
//! a person's page.

pub mod approvals;
mod authenticator;
mod body;
mod claim;
pub mod connection;
mod exchange;
mod guard;
pub mod held;
mod listen;
mod metadata;
mod metrics;
mod outside;
mod page;
mod peer;
mod photos;
mod post;
mod refused;
pub mod signatures;
pub mod stream;
pub mod wire;

pub use authenticator::Authenticator;
#[cfg(feature = "fleet")]
pub use listen::TunnelEntrance;
pub use listen::{HttpListener, HttpOptions};
pub use metadata::Metadata;
pub use peer::PeerAddress;

use crate::{
    authentication::refusals::Refusals,
    metrics::RefusalReason,
    page::sessions::Sessions,
    rpc::{
        connection::PARTING,
        mcp::http::{Endpoint, McpHttp},
        router::Server,
        running::OpenRequests,
    },
    tls::shown::ServedCertificate,
    transport::websocket,
};
use authenticator::{AuthenticatedCaller, AuthenticationError};
use axum::{
    body::Body,
    extract::{FromRequestParts, Request, WebSocketUpgrade},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
    response::IntoResponse,
};
use base::error::ToolError;
use contract::{
    access::{
        caller::{Caller, Transport},
        presence::Presence,
        seats::Seat,
        shares::is_admin,
    },
    config::{Settings, is_loopback},
};
use futures::StreamExt;
use signatures::WrongSignatures;
use std::{sync::Arc, time::Duration};
use time::OffsetDateTime;
use tokio::time::timeout;

/// What the HTTP handlers share.
pub struct App {
    pub server: Arc<Server>,
    pub mcp: McpHttp,
    guard: guard::OriginGuard,
    authenticator: Authenticator,
    refusals: Refusals,
    metadata: Option<Metadata>,
    /// The TLS certificate, and the names it is valid for.
    tls: Option<Arc<ServedCertificate>>,
    body_timeout: Duration,
    /// Whether it listens on loopback.
    is_local: bool,
    /// Whether `/metrics` is served.
    metrics: bool,
    /// Whether the page is served.
    page: bool,
    /// The sessions of the page.
    pages: Sessions,
    /// Who sent signatures that did not count.
    signatures: WrongSignatures,
    /// Running calls by caller and request id, so that a cancellation in another request finds them.
    running: OpenRequests,
}

/// Authentication and TLS.
pub struct Entrance {
    pub authenticator: Authenticator,
    pub metadata: Option<Metadata>,
    pub tls: Option<Arc<ServedCertificate>>,
}

impl Entrance {
    /// # Errors
    /// A sentence for the person who starts the server, if a certificate or key set cannot be used.
    pub fn of(settings: &Settings) -> Result<Self, String> {
        Ok(Self {
            authenticator: Authenticator::of(settings)?,
            metadata: Metadata::of(&settings.jwt),
            tls: settings.tls.enabled.then(|| ServedCertificate::load(&settings.tls)).transpose()?.map(Arc::new),
        })
    }
}

/// Remaining lifetime of the caller's token.
#[derive(Clone, Copy)]
struct Remaining(Duration);

impl App {
    pub fn new(server: Arc<Server>, options: &HttpOptions, entrance: Entrance) -> Arc<Self> {
        let mcp = McpHttp::new(&server, options.session_limit, options.session_idle);
        let Entrance { authenticator, metadata, tls } = entrance;
        let app = Arc::new(Self {
            mcp,
            guard: guard::OriginGuard::new(&options.allowed_hosts, &options.allowed_origins),
            authenticator,
            refusals: Refusals::default(),
            metadata,
            tls,
            body_timeout: options.body_timeout,
            is_local: is_loopback(options.listen.ip()),
            metrics: options.metrics,
            page: options.page,
            pages: Sessions::default(),
            signatures: WrongSignatures::default(),
            running: OpenRequests::default(),
            server,
        });
        let own = Arc::downgrade(&app);
        app.server.pipeline.services.tokens.on_end(move |principals| {
            let Some(app) = own.upgrade() else { return };
            for principal in app.pages.end_all_of(principals) {
                app.server.pipeline.services.revoked(&principal);
            }
            let principals = principals.to_vec();
            base::task::spawn_on(&app.server.tasks.clone(), async move {
                for principal in principals {
                    app.mcp.sessions.close_all_of(&principal).await;
                }
            });
        });
        app
    }

    fn metadata_url(&self) -> Option<&str> {
        self.metadata.as_ref().map(|metadata| metadata.url.as_str())
    }

    /// After the stop: lets running calls finish, cancels those that exceed the grace period, then ends the event
    /// streams.
    pub(super) async fn drain(&self) {
        if timeout(self.server.options.grace, self.running.emptied()).await.is_err() {
            self.running.cancel_all();
            // Their answers are being sent; peers that do not read them in time lose them.
            let _ = timeout(PARTING, self.running.emptied()).await;
        }
        self.mcp.streams.cancel();
    }

    /// Answers one request. Matched by hand: there are few paths, and a router's boxed futures cost more than the
    /// answer.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request,
        peer: PeerAddress,
        seat: Arc<Seat>,
    ) -> Response<Body> {
        let probe = is_probe(&request);
        if request.uri().path() == "/healthz" {
            return if probe { self.health() } else { not_allowed("GET, HEAD") };
        }
        if page::is_for(&request) {
            return page::answer(self, request, peer, seat).await;
        }
        // Check Host and Origin first, then authenticate.
        if let Err(refusal) = self.guard.check(request.uri(), request.headers(), |host| self.goes_by(host, peer)) {
            self.server.metrics.refused(RefusalReason::Origin);
            return post::refuse(StatusCode::FORBIDDEN, &refusal);
        }
        let is_outside = self.note_outside(&request, peer);
        if let Some(metadata) = self.metadata.as_ref().filter(|metadata| metadata.is_at(request.uri().path())) {
            return if probe { metadata.answer() } else { not_allowed("GET, HEAD") };
        }
        let ownership = &self.server.pipeline.services.ownership;
        if [claim::PATH, claim::RESTORE].contains(&request.uri().path())
            && ownership.is_appliance()
            && !peer.is_tunnel()
        {
            return claim::answer(&self, request, peer).await;
        }
        if let Err(unclaimed) = ownership.check() {
            self.server.metrics.refused(RefusalReason::Unauthenticated);
            return post::refuse(StatusCode::FORBIDDEN, &unclaimed);
        }
        if approvals::is_at(request.uri().path()) && request.uri().path() != approvals::ENROLL {
            let agent = &self.server.pipeline.services.agent;
            return approvals::answer(agent, &self.signatures, peer.address, self.body_timeout, request).await;
        }
        let known = if photos::is_at(request.uri().path()) && !photos::shows_a_token(request.headers()) {
            Err(AuthenticationError::Missing)
        } else {
            self.identify(request.headers(), is_outside, peer)
        };
        match known {
            Ok(known) => self.admitted(request, known, seat).await,
            Err(unknown) => {
                self.server.metrics.refused(RefusalReason::Unauthenticated);
                refused::answer(&self, unknown, peer).await
            }
        }
    }

    /// Whether a request to the loopback listener came from beyond this machine. Remembered for the owner, unless it came through
    /// the fleet's broker, which the owner has configured.
    fn note_outside(&self, request: &Request, peer: PeerAddress) -> bool {
        if !self.is_local {
            return false;
        }
        let Some(sign) = outside::sign(request.uri(), request.headers(), peer) else { return false };
        if !peer.is_tunnel() {
            self.server.pipeline.services.outside.note(sign);
        }
        true
    }

    /// Authenticates a request. Nobody who came from outside, by [`Self::note_outside`], is known without a token, also where
    /// callers on this machine are.
    fn identify(
        &self,
        headers: &HeaderMap,
        is_outside: bool,
        peer: PeerAddress,
    ) -> Result<AuthenticatedCaller, AuthenticationError> {
        if is_outside && !headers.contains_key(header::AUTHORIZATION) {
            return Err(if peer.is_tunnel() { AuthenticationError::Missing } else { AuthenticationError::Forwarded });
        }
        let services = &self.server.pipeline.services;
        services.tokens.refresh();
        let owner = services.ownership.tokens();
        self.authenticator.identify(headers, &services.tokens, owner.as_deref().map_or(&[], Vec::as_slice))
    }

    /// Whether a Host that is not configured means this server: the address that the request came to, a name in the
    /// certificate (which no other server can present), or the machine's own name.
    fn goes_by(&self, host: &str, peer: PeerAddress) -> bool {
        self.tls.as_ref().is_some_and(|tls| peer.came_to(host) || tls.now().is_for(host) || self.is_called(host))
    }

    /// The machine's current name: it may be renamed while the server runs, but its certificate stays.
    fn is_called(&self, host: &str) -> bool {
        let name = self.server.pipeline.services.machine.about.hostname().unwrap_or_default().to_ascii_lowercase();
        let alone = name.split('.').next().unwrap_or_default();
        !alone.is_empty() && (host == name || host.strip_suffix(".local").unwrap_or(host) == alone)
    }

    /// Serves an authenticated request. Handlers find an `Arc<Caller>` in its extensions.
    async fn admitted(
        self: Arc<Self>,
        mut request: Request,
        known: AuthenticatedCaller,
        seat: Arc<Seat>,
    ) -> Response<Body> {
        if let Err(full) = seat.is(&known.caller.party(), is_admin(&known.caller), known.caller.pass.as_ref()) {
            self.server.metrics.refused(RefusalReason::Connections);
            return post::closing(post::refuse(StatusCode::TOO_MANY_REQUESTS, &full.error("connections in use")));
        }
        if request.uri().path() == "/ws" {
            request.extensions_mut().insert(seat);
        }
        request.extensions_mut().insert(Arc::new(known.caller));
        let Some(until) = known.until else { return self.dispatch(request).await };
        let left = Duration::try_from(until - OffsetDateTime::now_utc()).unwrap_or_default();
        request.extensions_mut().insert(Remaining(left));
        let response = self.dispatch(request).await;
        let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return response;
        }
        // An event stream may run for days, but not longer than the token it was opened with.
        let until = Box::pin(tokio::time::sleep(left));
        response.map(|body| Body::from_stream(body.into_data_stream().take_until(until)))
    }

    async fn dispatch(self: Arc<Self>, request: Request) -> Response<Body> {
        let probe = is_probe(&request);
        match (request.uri().path(), request.method().as_str()) {
            ("/mcp", "POST") => post::serve(&self, Endpoint::Streamable, request).await,
            // GET opens the stream of a session, DELETE ends it: rmcp serves both.
            ("/mcp", "GET" | "DELETE") => post::pass(&self, request).await,
            ("/mcp", _) => not_allowed("GET, POST, DELETE"),
            ("/api/mcp", "POST") => post::serve(&self, Endpoint::Plain, request).await,
            ("/api/mcp", _) => not_allowed("POST"),
            (approvals::ENROLL, "POST") => approvals::enroll(&self, request).await,
            (approvals::ENROLL, _) => not_allowed("POST"),
            ("/ws", _) => ws(&self, request).await,
            (metrics::PATH, _) if self.metrics && !probe => not_allowed("GET, HEAD"),
            (metrics::PATH, _) if self.metrics => metrics::page(&self).await,
            (path, _) if path.starts_with(crate::page::BELOW) => page::dispatch(&self, request).await,
            (path, _) if photos::is_at(path) && !probe => not_allowed("GET, HEAD"),
            (path, _) if photos::is_at(path) => photos::answer(&self, request).await,
            _ => post::refuse(
                StatusCode::NOT_FOUND,
                &ToolError::not_found("there is nothing at this path")
                    .hint("MCP is at /mcp, plain JSON-RPC at /api/mcp, WebSocket at /ws"),
            ),
        }
    }

    /// For probes and load balancers: the process serves. Reveals nothing about the machine.
    fn health(&self) -> Response<Body> {
        if self.server.stop.is_cancelled() {
            return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
        }
        "ok\n".into_response()
    }
}

fn is_probe(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

async fn ws(app: &App, request: Request) -> Response<Body> {
    let (mut parts, _) = request.into_parts();
    let Some(caller) = parts.extensions.get::<Arc<Caller>>() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let Some(seat) = parts.extensions.get::<Arc<Seat>>().cloned() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let caller = Caller { transport: Transport::Ws, presence: Some(Presence::seated(&seat)), ..(**caller).clone() };
    let remaining = parts.extensions.get::<Remaining>().map(|remaining| remaining.0);
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => websocket::upgrade(Arc::clone(&app.server), caller, seat, remaining, upgrade),
        Err(refusal) => refusal.into_response(),
    }
}

fn not_allowed(allow: &'static str) -> Response<Body> {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allow)]).into_response()
}
