//! A call over a stream that leads to a device: its own TLS, pinned, and its own token.

use crate::support::served::secure::Secure;
use appliance::certificate::Fingerprint;
use base::error::{ErrorCode, ToolError};
use raspi_mcp::fleet::console::call::call_over;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional, duplex},
    net::TcpStream,
};

/// The far end of the stream is the listener, as it is through a tunnel.
async fn call(device: &Secure, pin: Fingerprint, token: &str) -> Result<Value, ToolError> {
    let (near, mut far) = duplex(65_536);
    let address = device.address();
    let listener = tokio::spawn(async move {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        copy_bidirectional(&mut tcp, &mut far).await
    });
    let answer = call_over(near, pin, Some(token.into()), "system.get_clock", &json!({})).await;
    listener.abort();
    answer
}

#[tokio::test]
async fn only_the_pinned_device_is_called_and_its_token_decides() {
    let device = Secure::start().await;
    let answer = call(&device, device.pin, &device.token).await.unwrap();
    assert!(answer["result"]["structuredContent"].is_object(), "{answer:#}");
    let wrong = call(&device, device.pin, "rmcp_of_another_device").await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::Unauthenticated);
    let other = Fingerprint::parse(&format!("sha256:{}", "0".repeat(64))).unwrap();
    let wrong = call(&device, other, &device.token).await.unwrap_err();
    assert!(wrong.message.contains("the pinned one"), "{}", wrong.message);
}

/// What a caller gets of a device that answers with `body`; `None`: it ends the connection instead.
async fn answered(body: Option<&'static str>) -> Result<Value, ToolError> {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["device".into()]).unwrap().self_signed(&key).unwrap();
    let certificate = CertificateDer::from(certificate.der().to_vec());
    let pin = Fingerprint::of(&certificate);
    let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], secret)
        .unwrap();
    let (near, far) = duplex(65_536);
    let device = tokio::spawn(async move {
        let Some(body) = body else { return drop(far) };
        let mut stream = BufReader::new(tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(far).await.unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await.unwrap() > 0 {}
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        stream.read_exact(&mut vec![0; length]).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let answer = call_over(near, pin, Some("t".into()), "system.get_clock", &json!({})).await;
    device.await.unwrap();
    answer
}

#[tokio::test]
async fn an_answer_to_another_request_is_none_and_silence_is_no_server_that_has_to_be_started() {
    let result = answered(Some(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#)).await.unwrap();
    assert_eq!(result["result"]["a"], 1);
    // What a server says that could not read the request.
    let fault = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}"#;
    assert_eq!(answered(Some(fault)).await.unwrap()["error"]["message"], "no JSON");
    for body in [r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#, r#"{"jsonrpc":"2.0","result":{"a":1}}"#] {
        let error = answered(Some(body)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert_eq!(error.message, "its server answered 200 OK with application/json, and no MCP");
    }
    let error = answered(None).await.unwrap_err();
    let said = error.advice();
    assert!(said.contains("took the tunnel") && said.contains("clone"), "{said}");
    assert!(!said.contains("raspi-mcp serve") && !said.contains("127.0.0.1"), "{said}");
}
