//! A web address that takes messages: over TCP or TLS, with answers that a test chooses.

use crate::support::served::soon;
use contract::config::{Settings, Webhook};
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its first line and its headers, as they were on the wire.
    pub head: String,
    pub body: String,
}

impl Request {
    /// The value of a header that is there once.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let prefix = format!("{}:", name.to_ascii_lowercase());
        let mut found = self.head.split("\r\n").filter(|line| line.to_ascii_lowercase().starts_with(&prefix));
        let value = found.next().unwrap_or_else(|| panic!("no {name} in {}", self.head));
        assert!(found.next().is_none(), "{name} is there twice: {}", self.head);
        value[prefix.len()..].trim()
    }

    pub fn has(&self, name: &str) -> bool {
        self.head.to_ascii_lowercase().contains(&format!("\r\n{}:", name.to_ascii_lowercase()))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Status and further headers of an answer, by the number of the request, from 0.
type Answer = Box<dyn Fn(usize) -> (u16, String) + Send + Sync>;

pub struct Receiver {
    pub address: SocketAddr,
    scheme: &'static str,
    /// The certificate, as PEM and DER.
    pub certificate: Option<(String, Vec<u8>)>,
    log: Arc<Mutex<Vec<Request>>>,
    count: watch::Receiver<usize>,
}

impl Receiver {
    /// Takes everything.
    pub async fn new() -> Self {
        Self::answering(|_| (200, String::new())).await
    }

    pub async fn answering(answer: impl Fn(usize) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0".parse().unwrap(), None, Box::new(answer)).await
    }

    /// At this address, where nobody listened before.
    pub async fn at(address: SocketAddr) -> Self {
        Self::on(address, None, Box::new(|_| (200, String::new()))).await
    }

    /// Over TLS, as `localhost`, with a certificate of its own.
    pub async fn secure() -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut it = Self::on("127.0.0.1:0".parse().unwrap(), Some(acceptor), Box::new(|_| (200, String::new()))).await;
        it.certificate = Some((certificate.pem(), certificate.der().to_vec()));
        it
    }

    async fn on(address: SocketAddr, acceptor: Option<TlsAcceptor>, answer: Answer) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (counted, count) = watch::channel(0);
        let log: Arc<Mutex<Vec<Request>>> = Arc::default();
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let shared = Arc::new((Arc::clone(&log), counted, answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
                tokio::spawn(async move {
                    let (log, counted, answer) = &*shared;
                    match acceptor {
                        None => serve(stream, log, counted, answer).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, log, counted, answer).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, scheme, certificate: None, log, count }
    }

    pub fn url(&self, path: &str) -> String {
        let host = if self.scheme == "https" { "localhost".into() } else { self.address.ip().to_string() };
        format!("{}://{host}:{}{path}", self.scheme, self.address.port())
    }

    /// The first `n` requests, once there are so many.
    #[track_caller]
    pub fn requests(&self, n: usize) -> impl Future<Output = Vec<Request>> {
        let (log, mut count) = (Arc::clone(&self.log), self.count.clone());
        let came = soon(async move { count.wait_for(|count| *count >= n).await.map(|count| *count) });
        async move {
            came.await.expect("it listens");
            log.lock().unwrap().clone()
        }
    }

    /// The requests so far.
    pub fn so_far(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }
}

/// One request on each connection.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    log: &Mutex<Vec<Request>>,
    counted: &watch::Sender<usize>,
    answer: &Answer,
) {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .split("content-length:")
                .nth(1)
                .map_or(0, |rest| rest.split("\r\n").next().unwrap().trim().parse::<usize>().unwrap());
            if body.len() >= length {
                break (head.to_owned(), body.to_owned());
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(1..) => {}
            _ => return,
        }
    };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(Request { head, body });
        log.len() - 1
    };
    let (status, more) = answer(number);
    let text = format!("HTTP/1.1 {status} So\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n");
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
    counted.send_replace(number + 1);
}

/// An address on which nobody listens, as far as one can know.
pub async fn deserted() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// A webhook to that address, with further fields.
pub fn webhook(url: &str, more: Value) -> Webhook {
    let mut fields = json!({"name": "phone", "url": url, "plain_http": true});
    more.as_object().unwrap().iter().for_each(|(name, value)| fields[name] = value.clone());
    serde_json::from_value(fields).unwrap()
}

/// Settings with one webhook: what it is told is in `more`.
pub fn told(settings: &mut Settings, receiver: &Receiver, more: Value) {
    settings.notifications.webhooks.push(webhook(&receiver.url("/topic"), more));
}

/// Whether somebody takes connections there.
pub async fn answers(address: SocketAddr) -> bool {
    TcpStream::connect(address).await.is_ok()
}
