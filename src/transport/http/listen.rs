//! The TCP listener: TLS required beyond loopback, a limited number of connections, `TCP_NODELAY`.

use super::{
    App,
    connection::{Answerer, connection, share},
    held::HeldBody,
    peer::PeerAddress,
    stream::HttpStream,
    wire::Wire,
};
use crate::rpc::connection::PARTING;
use axum::body::Body;
use base::os::{Root, groups, net::socket};
use contract::{
    access::seats::{Seat, Seats},
    config::{Settings, is_loopback, sections::agents::is_agent},
};
use hyper::body::Incoming;
use rustix::net::sockopt;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::{TcpListener, TcpStream};

/// Settings of the HTTP listener.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    pub listen: SocketAddr,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub session_limit: usize,
    pub session_idle: Duration,
    pub body_timeout: Duration,
    pub max_connections: usize,
    /// Whether `/metrics` is served.
    pub metrics: bool,
    /// Whether the page is served.
    pub page: bool,
    pub tls: bool,
}

impl HttpOptions {
    pub fn of(settings: &Settings) -> Self {
        let http = &settings.http;
        Self {
            listen: http.listen,
            allowed_hosts: http.allowed_hosts.clone(),
            allowed_origins: http.allowed_origins.clone(),
            session_limit: http.session_limit,
            session_idle: Duration::from_secs(http.session_idle_seconds),
            body_timeout: Duration::from_secs(http.body_timeout_seconds),
            max_connections: http.max_connections,
            metrics: http.metrics,
            page: http.page,
            tls: settings.tls.enabled,
        }
    }
}

/// Request heads must be complete this long after the connection is ready for one. This also closes idle keep-alive
/// connections.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest head of a request, in bytes.
const HEAD_BUFFER: usize = 64 * 1024;

/// Send buffer of a connection, in bytes; the kernel doubles the number. Fixed, because otherwise the kernel grows the
/// buffer of a fast connection to megabytes, and a peer that then becomes slow shows no progress for minutes.
const SEND_BUFFER: usize = 128 * 1024;
/// Silence before the first TCP keep-alive probe; four probes detect a vanished peer. Done by the kernel, so no timer
/// wakes this process.
const SILENCE: Duration = Duration::from_secs(60);
const ASKED_EVERY: Duration = Duration::from_secs(15);
const ASKED: u32 = 4;

/// A bound listener.
pub struct HttpListener {
    listener: TcpListener,
    max_connections: usize,
}

impl HttpListener {
    /// # Errors
    /// `PermissionDenied` for an address beyond loopback without TLS, and any error of binding.
    pub async fn bind(options: &HttpOptions) -> io::Result<Self> {
        // The configuration's own check explains more; this one holds for any caller.
        if !is_loopback(options.listen.ip()) && !options.tls {
            let why = format!("{} is not a loopback address; beyond loopback this server needs TLS", options.listen);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let listener = TcpListener::bind(options.listen).await?;
        // Accepted connections inherit these options.
        sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER)?;
        sockopt::set_socket_keepalive(&listener, true)?;
        sockopt::set_tcp_keepidle(&listener, SILENCE)?;
        sockopt::set_tcp_keepintvl(&listener, ASKED_EVERY)?;
        sockopt::set_tcp_keepcnt(&listener, ASKED)?;
        Ok(Self { listener, max_connections: options.max_connections })
    }

    /// The bound address (the port may have been 0).
    ///
    /// # Errors
    /// The socket's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts until the server stops, then closes the open connections.
    pub async fn run(self, app: Arc<App>) {
        self.accept(&app).await;
        app.drain().await;
    }

    async fn accept(self, app: &Arc<App>) {
        let seats = app.server.pipeline.services.seats(self.max_connections);
        close_revoked(app, &seats);
        loop {
            let accepted = tokio::select! {
                biased;
                () = app.server.stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, peer) = match accepted.and_then(|(stream, _)| prepare(stream)) {
                Ok(accepted) => accepted,
                Err(error) => {
                    crate::transport::pause_after(&error, &app.server.stop).await;
                    continue;
                }
            };
            if is_agents(app, &stream) {
                tracing::warn!("closed a connection of an agent: agents have no role here");
                continue;
            }
            // Loopback has no limit here, because local callers share by their credentials.
            let (from, most) = share(peer.address, usize::MAX, (self.max_connections / 4).max(1));
            let seat = match seats.sit(&from, most) {
                Ok(seat) => seat,
                Err(full) => {
                    tracing::debug!(address = %peer.address, ?full, "closed a connection: there is no place for it");
                    continue;
                }
            };
            base::task::spawn_on(&app.server.tasks, meet(Arc::clone(app), Wire::Tcp(stream), peer, seat));
        }
    }
}

/// Whether it comes from an agent of this machine, or from a process that has gone. Looked at only where an agent has the
/// network, since without a token callers of this machine are told apart by nothing else.
fn is_agents(app: &App, stream: &TcpStream) -> bool {
    if !app.server.pipeline.services.agents.declared().iter().any(|agent| agent.network) {
        return false;
    }
    let (Ok(theirs), Ok(ours)) = (stream.peer_addr(), stream.local_addr()) else { return true };
    let root = Root::system();
    let is_agent = |uid| groups::user_name(&root, uid).is_some_and(|name| is_agent(&name));
    is_loopback(theirs.ip()) && socket::user_of(&root, theirs, ours).is_none_or(is_agent)
}

/// Serves a new connection.
async fn meet(app: Arc<App>, stream: Wire, peer: PeerAddress, seat: Arc<Seat>) {
    let greeted = tokio::select! {
        biased;
        () = seat.evicted() => None,
        () = app.server.stop.cancelled() => None,
        greeted = HttpStream::greet(stream, Some(Arc::clone(&seat)), app.tls.as_deref()) => greeted,
    };
    if let Some(stream) = greeted {
        converse(app, stream, peer, seat).await;
    }
}

/// Where connections come in through the fleet's broker. They have room of their own, so that they take none from the
/// network's, and the network none from them.
#[cfg(feature = "fleet")]
pub struct TunnelEntrance {
    app: Arc<App>,
    seats: Arc<Seats>,
}

#[cfg(feature = "fleet")]
impl TunnelEntrance {
    /// With room for `most` connections; `None` without TLS, which a tunnel always has.
    pub fn new(app: &Arc<App>, most: usize) -> Option<Self> {
        app.tls.as_ref()?;
        let seats = app.server.pipeline.services.seats(most);
        close_revoked(app, &seats);
        Some(Self { app: Arc::clone(app), seats })
    }

    /// Serves a tunnel until it ends; `false` when there is no room.
    pub async fn enter(&self, stream: tokio::io::DuplexStream) -> bool {
        let Ok(seat) = self.seats.sit("fleet", usize::MAX) else { return false };
        meet(Arc::clone(&self.app), Wire::Tunnel(stream), PeerAddress::tunnel(), seat).await;
        true
    }
}

/// Closes the connections whose token is revoked.
fn close_revoked(app: &App, seats: &Arc<Seats>) {
    let revoked = Arc::downgrade(seats);
    app.server.pipeline.services.tokens.on_end(move |_| {
        if let Some(seats) = revoked.upgrade() {
            seats.close_revoked();
        }
    });
}

fn prepare(stream: TcpStream) -> io::Result<(TcpStream, PeerAddress)> {
    // Otherwise small answers wait for the peer's acknowledgement: 45 ms each were measured.
    stream.set_nodelay(true)?;
    let peer = PeerAddress::new(stream.peer_addr()?, stream.local_addr()?);
    Ok((stream, peer))
}

/// Serves one connection until it ends or the server stops.
async fn converse(app: Arc<App>, stream: HttpStream, peer: PeerAddress, seat: Arc<Seat>) {
    let (server, place) = (Arc::clone(&app.server), Arc::clone(&seat));
    let answerer = Answerer::new(move |request: hyper::Request<Incoming>| {
        let in_use = place.in_use();
        let answer = Arc::clone(&app).answer(request.map(Body::new), peer, Arc::clone(&place));
        // Held until the whole answer was sent, which may be an event stream.
        async move { answer.await.map(|body| HeldBody::new(body, in_use)) }
    });
    let connection = connection(stream, HEAD_TIMEOUT, HEAD_BUFFER, answerer);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        () = seat.evicted() => {}
        ended = connection.as_mut() => log(ended),
        () = server.stop.cancelled() => {
            // Finish the current answer, then close the connection.
            connection.as_mut().graceful_shutdown();
            if tokio::time::timeout(server.options.grace + PARTING, connection).await.is_err() {
                tracing::debug!("closed a connection that did not end within the grace");
            }
        }
    }
}

fn log(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection broke");
    }
}
