//! The router over real TLS, asked by a client that pins nothing: what a pin does is the client's matter.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1::SendRequest, header};
use hyper_util::rt::TokioIo;
use routeros_simulator::{Fault, Profile, Router, server::Listener};
use rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

/// More than a busy machine needs.
const SOON: Duration = Duration::from_secs(20);

struct Client {
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    async fn connect(listener: &Listener) -> std::io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(listener.certificate().clone()).expect("a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(listener.address()).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    async fn ask(&mut self, method: &str, path: &str, body: Value) -> Result<(u16, Value), hyper::Error> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let credentials = format!("Basic {}", STANDARD.encode("raspi:correct horse"));
        let request = Request::builder().method(method).uri(format!("/rest/{path}")).header(header::HOST, "localhost");
        let request =
            request.header(header::AUTHORIZATION, credentials).body(Full::new(Bytes::from(body))).expect("a request");
        let response = self.sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

async fn listening() -> (Router, Listener) {
    let router = Router::new(Profile::V7_21);
    let listener = Listener::bind(router.clone(), "127.0.0.1:0").await.expect("a port");
    (router, listener)
}

#[tokio::test]
async fn requests_are_answered_and_paths_decoded() {
    let (_, listener) = listening().await;
    let mut client = Client::connect(&listener).await.expect("a connection");
    let (status, identity) = client.ask("GET", "system/identity", Value::Null).await.expect("an answer");
    assert_eq!((status, identity), (200, json!({ "name": "MikroTik" })));
    let (status, rows) =
        client.ask("GET", "interface?type=ether&.proplist=name", Value::Null).await.expect("an answer");
    assert_eq!((status, rows.as_array().map(Vec::len)), (200, Some(5)));
    assert_eq!(client.ask("GET", "ip/service/www%2Dssl", Value::Null).await.expect("an answer").1["name"], "www-ssl");
    assert_eq!(listener.credentials_seen(), 3);
}

#[tokio::test]
async fn a_client_that_is_cut_off_waits_until_the_router_takes_it_back() {
    let (router, listener) = listening().await;
    let mut client = Client::connect(&listener).await.expect("a connection");
    let entry = json!({ "name": "back", "interval": "2m", "on-event": "/ip/address/enable [find interface=bridge]" });
    assert_eq!(client.ask("PUT", "system/scheduler", entry).await.expect("an answer").0, 201);
    let id = router.rows("ip/address")[0].id;
    let asks =
        tokio::spawn(
            async move { client.ask("PATCH", &format!("ip/address/{id}"), json!({ "disabled": "yes" })).await },
        );
    timeout(SOON, async {
        while router.writes() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("it is written");
    let connects = Client::connect(&listener);
    tokio::pin!(connects);
    assert!(timeout(Duration::from_millis(100), &mut connects).await.is_err() && !asks.is_finished());
    router.advance(Duration::from_secs(120));
    assert_eq!(timeout(SOON, asks).await.expect("soon").expect("no panic").expect("an answer").0, 200);
    timeout(SOON, connects).await.expect("soon").expect("a connection");
}

#[tokio::test]
async fn faults_break_what_they_say() {
    let (router, listener) = listening().await;
    router.fault(Fault::CutAfterWrite);
    let mut client = Client::connect(&listener).await.expect("a connection");
    assert_eq!(client.ask("GET", "system/identity", Value::Null).await.expect("a read").0, 200);
    client.ask("POST", "system/identity/set", json!({ "name": "attic" })).await.expect_err("it was cut");
    let mut client = Client::connect(&listener).await.expect("a connection");
    assert_eq!(client.ask("GET", "system/identity", Value::Null).await.expect("an answer").1["name"], "attic");
    router.fault(Fault::CutBefore(1));
    client.ask("POST", "system/identity/set", json!({ "name": "porch" })).await.expect_err("it was cut");
    let mut client = Client::connect(&listener).await.expect("a connection");
    assert_eq!(client.ask("GET", "system/identity", Value::Null).await.expect("an answer").1["name"], "attic");
    router.reboot();
    router.advance(Duration::from_secs(20));
    client.ask("GET", "system/identity", Value::Null).await.expect_err("the connection is from before");
    router.fault(Fault::OtherCertificate);
    assert!(Client::connect(&listener).await.is_err(), "another certificate");
}
