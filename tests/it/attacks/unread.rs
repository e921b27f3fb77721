//! Peers that ask for much and do not read it: they lose their connections, and while they hold them others get in.

use crate::support::served::{Door, Pi, secure::Secure, soon};
use raspi_mcp::{tls::pin, transport::write_deadline::PATIENCE};
use rustls::pki_types::ServerName;
use serde_json::json;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpSocket, TcpStream, UnixStream},
};
use tokio_rustls::TlsConnector;

const BYTES: usize = 4 * 1024 * 1024;

/// A connection whose end takes little before it is read.
async fn narrow(pi: &Pi) -> TcpStream {
    narrow_to(pi.address()).await
}

async fn narrow_to(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(address).await.unwrap()
}

fn big() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "test.big", "params": {"bytes": BYTES}}).to_string()
}

async fn post(to: &mut (impl AsyncWrite + Unpin)) {
    post_with(to, "").await;
}

async fn post_with(to: &mut (impl AsyncWrite + Unpin), headers: &str) {
    let body = big();
    let head = format!(
        "POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    to.write_all((head + &body).as_bytes()).await.unwrap();
}

/// A WebSocket that asks, by hand: a library would read.
async fn web_socket(to: &mut (impl AsyncRead + AsyncWrite + Unpin), headers: &str) {
    let upgrade = format!(
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    );
    to.write_all(upgrade.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon(to.read_u8()).await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    // A text frame of less than 126 bytes, masked with zeros (RFC 6455, 5.2).
    let body = big();
    let frame = [&[0x81, 0x80 | u8::try_from(body.len()).unwrap(), 0, 0, 0, 0], body.as_bytes()].concat();
    to.write_all(&frame).await.unwrap();
}

/// Answers are on their way once their calls are on record.
async fn until_answered(pi: &Pi, count: usize) {
    let big = |record: &&serde_json::Value| record["tool"] == "test.big";
    while pi.audit().await.iter().filter(big).count() < count {
        tokio::task::yield_now().await;
    }
    settle().await;
}

/// Everything that can happen now has happened.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// The patience of the server ends, whenever it has begun.
async fn until_impatient() {
    tokio::time::pause();
    for _ in 0..3 {
        tokio::time::advance(PATIENCE + Duration::from_secs(1)).await;
        settle().await;
    }
    tokio::time::resume();
}

/// How much comes until the end.
async fn rest(from: &mut (impl AsyncRead + Unpin)) -> usize {
    let (mut count, mut buffer) = (0, vec![0; 64 * 1024]);
    loop {
        match soon(from.read(&mut buffer)).await {
            Ok(0) | Err(_) => return count,
            Ok(more) => count += more,
        }
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_ends_with_its_connection() {
    let pi = Pi::start().await;
    let mut http = narrow(&pi).await;
    post(&mut http).await;
    let mut unix = UnixStream::connect(&pi.server().pipeline.services.settings.socket.path).await.unwrap();
    unix.write_all((big() + "\n").as_bytes()).await.unwrap();
    until_answered(&pi, 2).await;
    until_impatient().await;
    let (http, unix) = (rest(&mut http).await, rest(&mut unix).await);
    assert!(http < BYTES && unix < BYTES, "{http} and {unix} of {BYTES}");
}

#[tokio::test]
async fn a_web_socket_that_is_not_read_ends() {
    let pi = Pi::start().await;
    let mut peer = narrow(&pi).await;
    web_socket(&mut peer, "").await;
    until_answered(&pi, 1).await;
    until_impatient().await;
    let got = rest(&mut peer).await;
    assert!(got < BYTES, "{got} of {BYTES}");
}

#[tokio::test]
async fn what_is_encrypted_has_the_same_deadline() {
    let secure = Secure::start().await;
    let headers = format!("Authorization: Bearer {}\r\n", secure.token);
    for web in [false, true] {
        let config = pin::client_config(secure.pin).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = narrow_to(secure.address()).await;
        let mut peer = soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.unwrap();
        if web {
            web_socket(&mut peer, &headers).await;
        } else {
            post_with(&mut peer, &headers).await;
        }
        until_answered(&secure.pi, 1 + usize::from(web)).await;
        until_impatient().await;
        // What is left on the wire, not what it says.
        let got = rest(&mut peer.into_inner().0).await;
        assert!(got < BYTES, "{got} of {BYTES}, as a WebSocket: {web}");
    }
}

#[tokio::test]
async fn who_reads_slowly_gets_it_all() {
    let pi = Pi::start().await;
    let mut http = narrow(&pi).await;
    post(&mut http).await;
    until_answered(&pi, 1).await;
    let (mut count, mut buffer) = (0, vec![0; 256 * 1024]);
    while count < BYTES {
        // Ten seconds for each quarter of a megabyte.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(10)).await;
        settle().await;
        tokio::time::resume();
        let round = count + 256 * 1024;
        while count < round.min(BYTES) {
            let part = soon(http.read(&mut buffer)).await.unwrap();
            assert!(part > 0, "hung up after {count} bytes");
            count += part;
        }
    }
}

#[tokio::test]
async fn sixty_four_that_do_not_read_keep_nobody_out() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 1000).await;
    let mut held = Vec::new();
    for _ in 0..64 {
        let mut peer = narrow(&pi).await;
        post(&mut peer).await;
        held.push(peer);
    }
    // At once: a caller in its share, or past it with a refusal, but never silence.
    let answer = pi.on(Door::Api).await.request_unread("test.echo", json!({})).await;
    assert!(matches!(answer.status, Some(200 | 429)), "{answer:?}");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    settle().await;
    tokio::time::resume();
    pi.on(Door::Api).await.call("test.echo", json!({})).await.ok();
}
