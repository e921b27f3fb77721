//! What one certificate can take of the broker, as `fleet init` configures it: a client with it that keeps to nothing.

use super::enrolment::{console, fleet, signed};
use crate::support::{fleet::NatsServer, served::soon};
use raspi_mcp::broker::RequestFailure;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use std::{
    fs,
    net::Ipv4Addr,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// More than this, in KiB, one certificate must not take.
const MOST_KIB: u64 = 32 * 1024;
/// How long each kind of load goes on.
const LOAD: Duration = Duration::from_secs(4);
/// Connections that are tried at the same time.
const CLIENTS: usize = 12;
/// An answer of the broker and a subject in it, at most.
const LONG: usize = 900;

/// A kind of load: what is written again and again; nothing is read.
type Load = fn(u64) -> Vec<u8>;

/// The number of a subject, as long as the broker takes it.
fn long(number: u64) -> String {
    format!("{number:a>LONG$}")
}

fn lines(round: u64, line: impl Fn(u64) -> String) -> Vec<u8> {
    (round * 200..round * 200 + 200).map(line).collect::<String>().into_bytes()
}

const LOADS: [(&str, Load); 7] = [
    ("pings whose answers nobody reads", |_| b"PING\r\n".repeat(10_000)),
    ("subscriptions", |round| lines(round, |it| format!("SUB rmcp.1.home.s.kitchen.{}.up {it}\r\n", long(it)))),
    ("subscriptions that are refused", |round| lines(round, |it| format!("SUB x.{} {it}\r\n", long(it)))),
    ("messages that are refused", |round| lines(round, |it| format!("PUB x.{} 0\r\n\r\n", long(it)))),
    ("frames to nobody", |round| lines(round, |it| format!("PUB rmcp.1.home.s.kitchen.{}.down 0\r\n\r\n", long(it)))),
    ("statuses that want an answer", |round| {
        lines(round, |it| format!("PUB rmcp.1.home.status.kitchen _INBOX.kitchen.{} 1\r\nx\r\n", long(it)))
    }),
    ("large statuses", |_| {
        [b"PUB rmcp.1.home.status.kitchen 130000\r\n", &b"x".repeat(130_000)[..], b"\r\n"].concat().repeat(2)
    }),
];

/// A client with the certificate of a device.
struct Hostile {
    port: u16,
    tls: TlsConnector,
}

impl Hostile {
    fn of(folder: &Path, name: &str, port: u16) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(folder.join("ca.pem")).unwrap()).unwrap();
        let certificate = CertificateDer::from_pem_file(folder.join(format!("{name}.pem"))).unwrap();
        let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key"))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate], key)
            .unwrap();
        Self { port, tls: TlsConnector::from(Arc::new(config)) }
    }

    /// A connection that has shown its certificate and said nothing.
    async fn handshake(&self) -> std::io::Result<TlsStream<TcpStream>> {
        // Its thousands of ports are of another address than those at which other tests listen, and listen again.
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into())?;
        let mut tcp = socket.connect((Ipv4Addr::LOCALHOST, self.port).into()).await?;
        // The broker begins, in plain text, with one line.
        while tcp.read_u8().await? != b'\n' {}
        self.tls.connect(ServerName::try_from("127.0.0.1").unwrap(), tcp).await
    }

    /// One that is let in, or that the broker ends because it is one too many.
    async fn connection(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let mut stream = self.handshake().await?;
        let hello = r#"CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}"#;
        stream.write_all(format!("{hello}\r\nPING\r\n").as_bytes()).await?;
        stream.flush().await?;
        let mut answer = [0; 64];
        let length = stream.read(&mut answer).await?;
        match answer[..length].starts_with(b"PONG") {
            true => Ok(stream),
            false => Err(std::io::Error::other(String::from_utf8_lossy(&answer[..length]).into_owned())),
        }
    }

    /// The first connection: the broker may still be loading its users.
    async fn is_let_in(&self) -> TlsStream<TcpStream> {
        let first = async {
            loop {
                if let Ok(stream) = self.connection().await {
                    return stream;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        soon(first).await
    }

    /// Writes without end and reads nothing; connects again when the broker has ended the connection. Returns how often it was
    /// let in.
    async fn writes(&self, load: Load, until: Instant) -> u64 {
        let mut let_in = 0;
        while Instant::now() < until {
            let Ok(Ok(mut stream)) = timeout(Duration::from_secs(2), self.connection()).await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let_in += 1;
            let mut round = 0;
            let left = until.saturating_duration_since(Instant::now());
            let _ = timeout(left, async {
                while stream.write_all(&load(round)).await.is_ok() {
                    round += 1;
                }
            })
            .await;
        }
        let_in
    }
}

/// Reads until the broker has said `words`; returns all that it said, such as a PING that comes in between.
async fn hears(stream: &mut TlsStream<TcpStream>, words: &str) -> String {
    let mut heard = vec![0; 4096];
    let mut text = String::new();
    while !text.contains(words) {
        let length = soon(stream.read(&mut heard)).await.unwrap();
        assert!(length > 0, "the broker ended the connection after {text:?}");
        text.push_str(&String::from_utf8_lossy(&heard[..length]));
    }
    text
}

/// The memory of the broker, in KiB.
fn memory(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The most that it has while `load` goes on. A thread of its own looks: the load has this one.
async fn peak<T>(server: &NatsServer, load: impl Future<Output = T>) -> (u64, T) {
    let (pid, (over, ends)) = (server.pid(), mpsc::channel::<()>());
    let looks = thread::spawn(move || {
        let mut most = memory(pid);
        while ends.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
            most = most.max(memory(pid));
        }
        most
    });
    let done = load.await;
    drop(over);
    (looks.join().unwrap(), done)
}

#[tokio::test]
async fn one_certificate_takes_at_most_32_mib_of_the_broker() {
    let root = TempDir::new().unwrap();
    for (at, (what, load)) in LOADS.iter().enumerate() {
        let folder = root.path().join(at.to_string());
        let server = fleet(&folder).await;
        signed(&folder, &server, "kitchen");
        let hostile = Hostile::of(&folder, "kitchen", server.port);
        drop(hostile.is_let_in().await);
        let before = memory(server.pid());
        let until = Instant::now() + LOAD;
        let all = futures::future::join_all((0..CLIENTS).map(|_| hostile.writes(*load, until)));
        let (most, let_in) = peak(&server, all).await;
        eprintln!("{what}: {before} KiB before, at most {most} KiB");
        assert!(let_in.iter().sum::<u64>() > 0, "{what}: it was not let in");
        assert!(most - before <= MOST_KIB, "{what}: {before} KiB before, then {most}");
        // Whoever keeps to the rules is served all the time.
        let kept = soon(console(&folder)).await;
        kept.ensure_streams().await.unwrap();
    }
}

#[tokio::test]
async fn a_device_has_three_connections_and_others_have_theirs() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("fleet");
    let server = fleet(&folder).await;
    for name in ["kitchen", "shed"] {
        signed(&folder, &server, name);
    }
    let before = memory(server.pid());
    let [kitchen, shed] = ["kitchen", "shed"].map(|name| Hostile::of(&folder, name, server.port));
    let mut other = shed.is_let_in().await;
    let mut had = Vec::new();
    for _ in 0..3 {
        had.push(kitchen.connection().await.unwrap());
    }
    let refused = kitchen.connection().await.unwrap_err().to_string();
    assert!(refused.contains("maximum account active connections exceeded"), "{refused}");
    // Certificates that are shown, and nothing after it: until the broker takes no more.
    let mut silent = Vec::new();
    while let (true, Ok(Ok(stream))) = (silent.len() < 300, timeout(Duration::from_secs(5), kitchen.handshake()).await)
    {
        silent.push(stream);
    }
    let now = memory(server.pid());
    assert!(silent.len() > 100 && now - before <= MOST_KIB, "{} connections: {before} KiB, then {now}", silent.len());
    // It hears what is for it, and nothing of its neighbour.
    other.write_all(b"SUB rmcp.1.home.dev.shed.* 1\r\nSUB rmcp.1.home.dev.kitchen.* 2\r\nPING\r\n").await.unwrap();
    other.flush().await.unwrap();
    let said = hears(&mut other, "Permissions Violation for Subscription to \"rmcp.1.home.dev.kitchen.*\"").await;
    assert!(!said.contains("rmcp.1.home.dev.shed.*"), "{said}");
    drop((had, silent));
    // The places are free again as soon as the broker has noticed.
    soon(async {
        while kitchen.connection().await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_device_sends_and_hears_is_as_in_one_account() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("fleet");
    let server = fleet(&folder).await;
    signed(&folder, &server, "kitchen");
    let desk = console(&folder).await;
    let mut frames = desk.broker.subscribe("rmcp.1.home.s.kitchen.one.down".into()).await.unwrap();
    let nobody = desk.broker.request("rmcp.1.home.dev.kitchen.dial".into(), "{}".into(), Duration::from_secs(5)).await;
    assert!(matches!(nobody, Err(RequestFailure::Nobody)), "the broker says that nobody is there");
    let mut kitchen = Hostile::of(&folder, "kitchen", server.port).is_let_in().await;
    kitchen.write_all(b"SUB rmcp.1.home.dev.kitchen.* 1\r\nPING\r\n").await.unwrap();
    kitchen.flush().await.unwrap();
    assert_eq!(soon(kitchen.read_u8()).await.unwrap(), b'P');
    desk.broker.publish("rmcp.1.home.dev.kitchen.look".into(), "{}".into()).await.unwrap();
    hears(&mut kitchen, "MSG rmcp.1.home.dev.kitchen.look 1 2\r\n{}").await;
    // The longest status that is kept, and a frame that wants its answer in the status of another device.
    let status = "x".repeat(1024);
    let sent = format!(
        "PUB rmcp.1.home.status.kitchen 1024\r\n{status}\r\nPUB rmcp.1.home.s.kitchen.one.down \
         rmcp.1.home.status.shed 5\r\nframe\r\n"
    );
    kitchen.write_all(sent.as_bytes()).await.unwrap();
    kitchen.flush().await.unwrap();
    assert_eq!(soon(frames.next()).await.unwrap().payload.as_ref(), b"frame");
    let (book, _) = desk.statuses().await.unwrap();
    assert_eq!(book.refused().keys().collect::<Vec<_>>(), ["kitchen"], "it is there, and nobody answered for the shed");
}
