//! The router's HTTPS: each connection and each request is held while the router would drop its packets.

use crate::{
    fault::Fault,
    request::{Answer, Request},
    router::Router,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Response, StatusCode, body::Incoming, header, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{
    ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use serde_json::{Map, Value};
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep},
};
use tokio_rustls::TlsAcceptor;

/// Requests have at most so many bytes.
const MOST_BYTES: usize = 64 << 10;
/// After how long RouterOS ends a command that does not end itself.
const LONGEST: Duration = Duration::from_secs(60);

/// A listening router. Dropping it closes all connections.
pub struct Listener {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    credentials: Arc<AtomicU64>,
    router: Router,
    tasks: JoinSet<()>,
}

struct Shown {
    acceptor: TlsAcceptor,
    certificate: CertificateDer<'static>,
}

/// A certificate for `router.lan` and loopback, made now.
fn made() -> io::Result<Shown> {
    let names = ["router.lan".to_owned(), "localhost".to_owned(), "127.0.0.1".to_owned(), "192.168.88.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate.clone()], key))
        .map_err(io::Error::other)?;
    Ok(Shown { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
}

impl Listener {
    /// Listens at `address`, for example `127.0.0.1:0`.
    ///
    /// # Errors
    /// Those of the network.
    pub async fn bind(router: Router, address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let (address, shown) = (listener.local_addr()?, made()?);
        let certificate = shown.certificate.clone();
        let credentials = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, router.clone(), shown, Arc::clone(&credentials)));
        Ok(Self { address, certificate, credentials, router, tasks })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate it began with, as DER: what a client pins.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// How many requests with credentials came through TLS.
    pub fn credentials_seen(&self) -> u64 {
        self.credentials.load(Ordering::Relaxed)
    }

    /// The router's time is that of this machine from now on.
    pub fn follow_the_clock(&mut self) {
        let router = self.router.clone();
        self.tasks.spawn(async move {
            let mut ticks = interval(Duration::from_millis(200));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut last = Instant::now();
            loop {
                let now = ticks.tick().await;
                router.advance(now - last);
                last = now;
            }
        });
    }
}

async fn accept(listener: TcpListener, router: Router, mut shown: Shown, credentials: Arc<AtomicU64>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                if router.lock().take_fault(|fault| *fault == Fault::OtherCertificate) && let Ok(other) = made() {
                    shown = other;
                }
                let connection = Connection { router: router.clone(), booted: router.booted(), credentials: Arc::clone(&credentials) };
                connections.spawn(connection.serve(stream, shown.acceptor.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

#[derive(Clone)]
struct Connection {
    router: Router,
    /// A connection from before a boot is dead.
    booted: Duration,
    credentials: Arc<AtomicU64>,
}

/// The connection breaks without an answer.
fn broken() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl Connection {
    async fn serve(self, stream: TcpStream, acceptor: TlsAcceptor) {
        if self.admitted(true).await.is_err() {
            return;
        }
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let service = service_fn(move |request| {
            let connection = self.clone();
            async move { connection.answer(request).await }
        });
        let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // Broken by a fault or by the client: both are what a test looks at from its side.
        let _ = served.await;
    }

    /// Waits until a packet comes through, as a client's TCP does by sending it again.
    async fn admitted(&self, is_new: bool) -> io::Result<()> {
        let mut changes = self.router.changes();
        loop {
            if !is_new && self.router.booted() != self.booted {
                return Err(broken());
            }
            if self.router.admits(is_new) {
                return Ok(());
            }
            changes.changed().await.map_err(|_| broken())?;
        }
    }

    async fn answer(&self, request: hyper::Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
        let request = self.read(request).await?;
        self.admitted(false).await?;
        self.router.hears();
        let (slow, cut) = self.faults();
        if cut {
            return Err(broken());
        }
        sleep(slow).await;
        let is_faulty = |fault: fn(String) -> Fault| {
            let menu = request.as_ref().map(|request| request.path.clone()).unwrap_or_default();
            self.router.lock().faults.contains(&fault(menu))
        };
        if is_faulty(Fault::Hangs) {
            sleep(LONGEST).await;
        }
        let answer = match &request {
            Ok(_) if is_faulty(Fault::EmptyObject) => Answer::ok(serde_json::json!({})),
            Ok(_) if is_faulty(Fault::Denies) => Answer::bad("not enough permissions (9)"),
            Ok(request) => self.router.answer(request),
            Err(detail) => Answer::bad(detail),
        };
        if answer.blocks {
            sleep(LONGEST).await;
        }
        if answer.wrote && self.router.lock().take_fault(|fault| *fault == Fault::CutAfterWrite) {
            return Err(broken());
        }
        // The answer has to come through as well.
        self.admitted(false).await?;
        let mut response = Response::builder().status(StatusCode::from_u16(answer.status).map_err(io::Error::other)?);
        if answer.body.is_some() {
            response = response.header(header::CONTENT_TYPE, "application/json");
        }
        let mut body = answer.body.map(|body| body.to_string()).unwrap_or_default().into_bytes();
        if self.router.lock().faults.contains(&Fault::InvalidUtf8) {
            body.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xF6);
        }
        if is_faulty(Fault::HalfAnswer) {
            body.truncate(body.len() / 2);
        }
        self.router.lock().sent_bytes += body.len() as u64;
        response.body(Full::new(Bytes::from(body))).map_err(io::Error::other)
    }

    /// How long an answer takes, and whether the connection breaks before it is made.
    fn faults(&self) -> (Duration, bool) {
        let mut state = self.router.lock();
        let slow = state.faults.iter().find_map(|fault| if let Fault::Slow(time) = fault { Some(*time) } else { None });
        for fault in &mut state.faults {
            if let Fault::CutBefore(left) = fault {
                *left = left.saturating_sub(1);
            }
        }
        (slow.unwrap_or_default(), state.take_fault(|fault| *fault == Fault::CutBefore(0)))
    }

    /// # Errors
    /// When the connection breaks; `Ok(Err(detail))` for a body that is no JSON object.
    async fn read(&self, request: hyper::Request<Incoming>) -> io::Result<Result<Request, String>> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MOST_BYTES).collect().await.map_err(io::Error::other)?.to_bytes();
        let credentials = head.headers.get(header::AUTHORIZATION).and_then(|value| basic(value.to_str().ok()?));
        if credentials.is_some() {
            self.credentials.fetch_add(1, Ordering::Relaxed);
        }
        let body = if body.is_empty() { Ok(Map::new()) } else { serde_json::from_slice::<Map<String, Value>>(&body) };
        let Some(path) = decoded(head.uri.path()).strip_prefix("/rest/").map(str::to_owned) else {
            return Ok(Err("no such command or directory".into()));
        };
        let query = head.uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let query = query
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect();
        Ok(match body {
            Ok(body) => Ok(Request { method: head.method.as_str().to_owned(), path, query, body, credentials }),
            Err(error) => Err(format!("invalid JSON: {error}")),
        })
    }
}

fn basic(value: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(value.strip_prefix("Basic ")?).ok()?).ok()?;
    text.split_once(':').map(|(name, password)| (name.to_owned(), password.to_owned()))
}

/// Percent-encoding taken away.
fn decoded(text: &str) -> String {
    let (mut bytes, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.as_bytes().get(at) {
        let coded =
            text.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(coded.unwrap_or(*byte));
        at += if coded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
