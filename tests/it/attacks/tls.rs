//! Getting around TLS: without it, under it, and in the middle of it.

use crate::support::served::{
    request,
    secure::{Owner, Secure, pinned},
    soon,
};
use appliance::certificate::{self, Fingerprint};
use raspi_mcp::tls::{pin, provider, shown};
use rustls::{
    ClientConfig, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use serde_json::json;
use std::{error::Error, fs, os::unix::fs::PermissionsExt, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Everything that comes back for these bytes.
async fn exchange(secure: &Secure, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(secure.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset is an end, too.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    answer
}

#[tokio::test]
async fn plain_http_gets_one_refusal_and_nothing_else() {
    let secure = Secure::start().await;
    let body = request(&json!(1), "test.admin", &json!({}));
    let post = format!(
        "POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        secure.token,
        body.len()
    );
    for attempt in
        [post.as_str(), "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let answer = String::from_utf8(exchange(&secure, attempt.as_bytes()).await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("use https://"), "{answer}");
        assert!(!answer.contains("Location"), "no redirect: the token would be sent in the clear again");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1);
    }
    assert_eq!(secure.pi.bench.ran(), 0);
}

#[tokio::test]
async fn old_versions_and_rubbish_end_in_an_alert() {
    let secure = Secure::start().await;
    // ClientHello of TLS 1.1 with the suites of its time.
    let mut hello = vec![22, 3, 1, 0, 47, 1, 0, 0, 43, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0, 4, 0, 0x2f, 0, 0x35, 1, 0]);
    let answer = exchange(&secure, &hello).await;
    assert_eq!(answer.first(), Some(&21), "an alert: {answer:?}");
    let answer = exchange(&secure, &[22, 3, 1, 255, 255, 0, 0, 0]).await;
    assert!(answer.is_empty() || answer[0] == 21, "{answer:?}");
    // And the next client is served.
    assert_eq!(secure.client().get(secure.url("/healthz")).send().await.unwrap().status(), 200);
}

async fn handshake(secure: &Secure, config: ClientConfig) -> Result<(), String> {
    let stream = TcpStream::connect(secure.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connected = soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await;
    let mut stream = connected.map_err(|error| error.to_string())?;
    // In TLS 1.3 a refusal comes after the client's side is done.
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.map_err(|error| error.to_string())?;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn only_http_1_1_is_negotiated() {
    let secure = Secure::start().await;
    let config = |protocols: &[&str]| {
        let mut config = pin::client_config(secure.pin).unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    };
    handshake(&secure, config(&[])).await.unwrap();
    handshake(&secure, config(&["h2", "http/1.1"])).await.unwrap();
    handshake(&secure, config(&["h2"])).await.unwrap_err();
}

#[tokio::test]
async fn tls_1_2_and_1_3_are_spoken() {
    let secure = Secure::start().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in
            CertificateDer::pem_slice_iter(&fs::read(secure.owner().folder().join("tls/certificate.pem")).unwrap())
        {
            roots.add(certificate.unwrap()).unwrap();
        }
        // Not by fingerprint here: as an authority's client would see it, name and all.
        let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[version]).unwrap();
        handshake(&secure, builder.with_root_certificates(roots).with_no_client_auth()).await.unwrap();
    }
}

#[tokio::test]
async fn another_certificate_is_not_talked_to() {
    let secure = Secure::start().await;
    let other = Fingerprint::of(b"another certificate");
    let error = pinned(other).build().unwrap().get(secure.url("/healthz")).send().await.unwrap_err();
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let said = cause.to_string();
    assert!(said.contains(&secure.pin.to_string()) && said.contains(&other.to_string()), "{said}");
    // Nor does an unpinned client believe a certificate that nobody vouches for.
    assert!(reqwest::Client::builder().no_proxy().build().unwrap().get(secure.url("/healthz")).send().await.is_err());
}

/// Shows a certificate it has no key for.
#[derive(Debug)]
struct Copycat(Arc<CertifiedKey>);

impl ResolvesServerCert for Copycat {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

#[tokio::test]
async fn a_copy_of_the_certificate_is_not_enough() {
    let owner = Owner::new();
    let chain = shown::chain(&owner.folder().join("tls/certificate.pem")).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let copycat = Copycat(Arc::new(CertifiedKey::new(chain, key)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[version]).unwrap();
        let config = config.with_no_client_auth().with_cert_resolver(Arc::new(Copycat(Arc::clone(&copycat.0))));
        let client = async {
            let stream = TcpStream::connect(address).await.unwrap();
            let connector = TlsConnector::from(Arc::new(pin::client_config(owner.pin).unwrap()));
            connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.expect_err("refused")
        };
        let server = async {
            let (stream, _) = listener.accept().await.unwrap();
            TlsAcceptor::from(Arc::new(config)).accept(stream).await.expect_err("hung up")
        };
        let (refusal, _) = soon(async { tokio::join!(client, server) }).await;
        assert!(refusal.to_string().to_lowercase().contains("signature"), "{refusal}");
    }
}

#[tokio::test]
async fn a_new_certificate_counts_from_the_next_connection_on() {
    let owner = Owner::new();
    let secure = owner.starts(|_| {}).await;
    let open = secure.client();
    assert_eq!(open.get(secure.url("/healthz")).send().await.unwrap().status(), 200);
    let tls = secure.pi.server().pipeline.services.settings.tls.clone();
    let new = certificate::init(&tls, vec!["127.0.0.1".into()], true).unwrap().fingerprint;
    assert_eq!(open.get(secure.url("/healthz")).send().await.unwrap().status(), 200, "an open one goes on");
    assert!(secure.client().get(secure.url("/healthz")).send().await.is_err());
    let fresh = pinned(new).build().unwrap();
    assert_eq!(fresh.get(secure.url("/healthz")).send().await.unwrap().status(), 200);
    // Half a replacement leaves the last good pair in force.
    fs::write(&tls.key, "no key").unwrap();
    let again = pinned(new).build().unwrap();
    assert_eq!(again.get(secure.url("/healthz")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_key_that_others_can_read_is_not_used() {
    let owner = Owner::new();
    let settings = owner.starts(|_| {}).await.pi.server().pipeline.services.settings.tls.clone();
    fs::set_permissions(&settings.key, fs::Permissions::from_mode(0o644)).unwrap();
    let why = shown::ServedCertificate::load(&settings).err().unwrap();
    assert!(why.contains("everybody on this machine may read it; run: chmod 600"), "{why}");
    fs::set_permissions(&settings.key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&settings.key, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let why = shown::ServedCertificate::load(&settings).err().unwrap();
    assert!(why.contains("do not go together"), "{why}");
    fs::remove_file(&settings.certificate).unwrap();
    let why = shown::ServedCertificate::load(&settings).err().unwrap();
    assert!(why.contains("raspi-mcp tls init"), "{why}");
}
