//! A web space that serves updates: TLS with a certificate of an authority of its own, ranges, tags; and every way to misbehave.

use ::update::FileLocation;
use base::{clock::Wall, os::Root};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use update_client::fetch::{DownloadLimits, HttpClient};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    /// Both ends included, as it was written.
    pub range: Option<(usize, usize)>,
    pub headers: HashMap<String, String>,
    /// Counts all requests, from 0.
    pub number: usize,
}

/// How one request is treated.
#[derive(Clone, Debug)]
pub enum Conduct {
    Honest,
    /// A status and headers, and no body.
    Status(u16, String),
    /// A login page.
    Page,
    /// 200 and all of it, whatever the range.
    Whole,
    /// Honest, with this tag, and without a look at If-Range.
    Tag(&'static str),
    /// A range that was not asked for.
    Shifted,
    /// Another total than the file has.
    Total(usize),
    /// Content-Length that is not the range's: more promised (positive) or less.
    Length(i64),
    /// The connection is closed after so many bytes of the body.
    CutAt(usize),
    /// The body never ends.
    Endless,
    /// A byte now and then.
    Drip(Duration),
    /// Nothing at all, not even a status.
    Silent,
    /// Claims that the body is compressed.
    Gzip,
    /// One bit of the body is another.
    Rotten,
    /// These bytes, then the end.
    Raw(Vec<u8>),
}

type Treat = Box<dyn FnMut(&Request) -> Conduct + Send>;

struct Shared {
    files: Mutex<HashMap<String, Arc<Vec<u8>>>>,
    conduct: Mutex<Treat>,
    log: Mutex<Vec<Request>>,
    sent: AtomicU64,
    connections: AtomicUsize,
}

/// The web space. It ends with the runtime of its test.
pub struct Origin {
    pub port: u16,
    shared: Arc<Shared>,
}

/// An authority, and the folder with its certificate.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "updates of a test");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.as_ref().pem()).unwrap();
        Self { issuer, folder }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// What a server at localhost speaks TLS with; its certificate holds for `years`.
    pub fn acceptor(&self, years: std::ops::Range<i32>) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(years.start, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.end, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &*self.issuer).unwrap();
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    /// A web space whose certificate holds for `years`.
    pub async fn origin_of(&self, years: std::ops::Range<i32>) -> Origin {
        let acceptor = self.acceptor(years);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            files: Mutex::default(),
            conduct: Mutex::new(Box::new(|_| Conduct::Honest)),
            log: Mutex::default(),
            sent: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
        });
        let mine = Arc::clone(&shared);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                mine.connections.fetch_add(1, Ordering::Relaxed);
                let (acceptor, shared) = (acceptor.clone(), Arc::clone(&mine));
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        let _ = serve(stream, &shared).await;
                    }
                });
            }
        });
        Origin { port, shared }
    }

    pub async fn origin(&self) -> Origin {
        self.origin_of(2020..2050).await
    }

    /// Limits for a test: everything is short.
    pub fn limits(&self) -> DownloadLimits {
        let mut limits = DownloadLimits::new(Root::at("/nowhere"), Wall::system());
        limits.ca_file = Some(self.file());
        limits.time_floor = 1_760_000_000;
        limits.connect = Duration::from_secs(5);
        limits.stall = Duration::from_millis(400);
        limits.stall_bytes = 256;
        limits.deadline = Duration::from_secs(30);
        limits.pause = Duration::from_millis(4);
        limits.longest_pause = Duration::from_millis(20);
        limits.patience = 4;
        limits.request_bytes = 64 << 10;
        limits
    }

    pub fn line(&self) -> Arc<HttpClient> {
        HttpClient::new(self.limits()).unwrap()
    }
}

impl Origin {
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.shared.files.lock().unwrap().insert(path.to_owned(), Arc::new(bytes.into()));
    }

    /// Everything a folder holds, below `/`.
    pub fn put_folder(&self, folder: &std::path::Path) {
        fn walk(origin: &Origin, at: &std::path::Path, name: &str) {
            for entry in std::fs::read_dir(at).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
                if entry.path().is_dir() {
                    walk(origin, &entry.path(), &name)
                } else {
                    origin.put(&name, std::fs::read(entry.path()).unwrap())
                }
            }
        }
        walk(self, folder, "");
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    pub fn place(&self, path: &str) -> FileLocation {
        FileLocation::parse(&self.url(path)).unwrap()
    }

    /// What happens to each request from now on.
    pub fn treat(&self, conduct: impl FnMut(&Request) -> Conduct + Send + 'static) {
        *self.shared.conduct.lock().unwrap() = Box::new(conduct);
    }

    /// The requests so far.
    pub fn log(&self) -> Vec<Request> {
        self.shared.log.lock().unwrap().clone()
    }

    /// Bytes of bodies so far; forgets them.
    pub fn take_sent(&self) -> u64 {
        self.shared.log.lock().unwrap().clear();
        self.shared.sent.swap(0, Ordering::Relaxed)
    }
}

async fn serve(mut stream: TlsStream<TcpStream>, shared: &Shared) -> io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
        let request = {
            let mut log = shared.log.lock().unwrap();
            let request = parse(&head, log.len());
            log.push(request.clone());
            request
        };
        let conduct = (shared.conduct.lock().unwrap())(&request);
        let file = shared.files.lock().unwrap().get(&request.path).cloned();
        if !answer(&mut stream, shared, &request, file.as_deref(), conduct).await? {
            return stream.shutdown().await;
        }
    }
}

fn parse(head: &str, number: usize) -> Request {
    let mut lines = head.split("\r\n");
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let range = headers.get("range").map(|range| {
        let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        (first.parse().unwrap(), last.parse().unwrap())
    });
    Request { path, range, headers, number }
}

/// Whether the connection may be used once more.
async fn answer(
    stream: &mut TlsStream<TcpStream>,
    shared: &Shared,
    request: &Request,
    file: Option<&Vec<u8>>,
    conduct: Conduct,
) -> io::Result<bool> {
    let Some(file) = file else {
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?;
        return Ok(true);
    };
    let own = "\"v1\"";
    let tag = if let Conduct::Tag(other) = &conduct { other } else { own };
    // The same rule as real servers: another tag in If-Range, so the whole file.
    let changed =
        request.headers.get("if-range").is_some_and(|wanted| wanted != tag) && !matches!(conduct, Conduct::Tag(_));
    let range = request.range.filter(|_| !changed && !matches!(conduct, Conduct::Whole));
    let (first, last) = range.unwrap_or((0, file.len() - 1));
    if first >= file.len() {
        stream.write_all(b"HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n").await?;
        return Ok(true);
    }
    let last = last.min(file.len() - 1);
    let mut body = file[first..=last].to_vec();
    let mut total = file.len();
    let (mut told_first, mut told_last) = (first, last);
    let mut length = body.len();
    let mut more = String::new();
    match &conduct {
        Conduct::Status(status, headers) => {
            let text = format!("HTTP/1.1 {status} So\r\n{headers}content-length: 0\r\n\r\n");
            stream.write_all(text.as_bytes()).await?;
            return Ok(true);
        }
        Conduct::Page => {
            let page = "<html><body>Please log in</body></html>";
            let text = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\r\n{page}",
                page.len()
            );
            stream.write_all(text.as_bytes()).await?;
            return Ok(true);
        }
        Conduct::Silent => {
            sleep(Duration::from_secs(60)).await;
            return Ok(false);
        }
        Conduct::Raw(bytes) => {
            stream.write_all(bytes).await?;
            return Ok(false);
        }
        Conduct::Shifted => (told_first, told_last) = (first + 1, last + 1),
        Conduct::Total(other) => total = *other,
        Conduct::Length(by) => length = length.saturating_add_signed(isize::try_from(*by).unwrap()),
        Conduct::Gzip => more.push_str("content-encoding: gzip\r\n"),
        Conduct::Rotten => body.iter_mut().for_each(|byte| *byte ^= 1),
        _ => {}
    }
    let status = if range.is_some() {
        more.push_str(&format!("content-range: bytes {told_first}-{told_last}/{total}\r\n"));
        "206 Partial Content"
    } else {
        "200 OK"
    };
    if matches!(conduct, Conduct::Endless) {
        let head = format!("HTTP/1.1 {status}\r\netag: {tag}\r\n{more}transfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        loop {
            stream.write_all(b"400\r\n").await?;
            stream.write_all(&[0x41; 1024]).await?;
            stream.write_all(b"\r\n").await?;
            shared.sent.fetch_add(1024, Ordering::Relaxed);
        }
    }
    let head =
        format!("HTTP/1.1 {status}\r\netag: {tag}\r\naccept-ranges: bytes\r\n{more}content-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    match conduct {
        Conduct::CutAt(at) => body.truncate(at),
        Conduct::Drip(every) => {
            for byte in body {
                stream.write_all(&[byte]).await?;
                stream.flush().await?;
                shared.sent.fetch_add(1, Ordering::Relaxed);
                sleep(every).await;
            }
            return Ok(true);
        }
        _ => {}
    }
    // In pieces, as a network brings them.
    for part in body.chunks(5000) {
        stream.write_all(part).await?;
        shared.sent.fetch_add(part.len() as u64, Ordering::Relaxed);
    }
    stream.flush().await?;
    Ok(!matches!(conduct, Conduct::CutAt(_) | Conduct::Length(_)))
}
