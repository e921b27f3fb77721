//! The TCP listener: beyond loopback only with TLS, capped, no delayed small writes.

use super::{App, peer::Peer, places::Places, stream::Stream};
use crate::{
    config::{Settings, is_loopback},
    rpc::connection::PARTING,
};
use axum::body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::{TcpListener, TcpStream};

/// How the HTTP door is set up.
#[derive(Clone, Debug)]
pub struct Options {
    pub listen: SocketAddr,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub session_limit: usize,
    pub session_idle: Duration,
    pub body_timeout: Duration,
    pub max_connections: usize,
    /// Whether there is a `/metrics`.
    pub metrics: bool,
    pub tls: bool,
}

impl Options {
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
            tls: settings.tls.enabled,
        }
    }
}

/// Request heads must be complete this long after the connection is ready for one: idle keep-alive connections end here too.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// A bound listener.
pub struct Listener {
    listener: TcpListener,
    max_connections: usize,
}

impl Listener {
    /// # Errors
    /// `PermissionDenied` for an address beyond loopback without TLS, and whatever binding says.
    pub async fn bind(options: &Options) -> io::Result<Self> {
        // The configuration's own check says more; this one holds whatever called us.
        if !is_loopback(options.listen.ip()) && !options.tls {
            let why = format!("{} is not a loopback address; beyond loopback this server needs TLS", options.listen);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self { listener: TcpListener::bind(options.listen).await?, max_connections: options.max_connections })
    }

    /// The address it really has (the port may have been 0).
    ///
    /// # Errors
    /// What the socket says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts until the server stops, and sees to it that what is open then ends.
    pub async fn run(self, app: Arc<App>) {
        self.accept(&app).await;
        app.drain().await;
    }

    async fn accept(self, app: &Arc<App>) {
        let places = Places::new(self.max_connections);
        loop {
            let Some(permit) = places.free().await else { return };
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
            let Some(place) = places.seat(permit, peer.address) else {
                tracing::debug!(address = %peer.address, "closed a connection: its network has its share of them");
                continue;
            };
            let app = Arc::clone(app);
            app.server.tasks.clone().spawn(async move {
                let greeted = tokio::select! {
                    greeted = Stream::greet(stream, app.tls.as_deref()) => greeted,
                    () = app.server.stop.cancelled() => None,
                };
                if let Some(stream) = greeted {
                    converse(app, stream, peer).await;
                }
                drop(place);
            });
        }
    }
}

fn prepare(stream: TcpStream) -> io::Result<(TcpStream, Peer)> {
    // Without it small answers wait for the peer's acknowledgement: 45 ms each was measured.
    stream.set_nodelay(true)?;
    let peer = Peer::new(stream.peer_addr()?, stream.local_addr()?);
    Ok((stream, peer))
}

/// Serves one connection until it ends or the server stops.
async fn converse(app: Arc<App>, stream: Stream, peer: Peer) {
    let server = Arc::clone(&app.server);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let answer = Arc::clone(&app).answer(request.map(Body::new), peer);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => log(ended),
        () = server.stop.cancelled() => {
            // What is being answered is finished; then the connection closes.
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
