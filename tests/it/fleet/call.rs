//! A call over a stream that leads to a device: its own TLS, pinned, and its own token.

use crate::support::served::secure::Secure;
use appliance::certificate::Fingerprint;
use base::error::{ErrorCode, ToolError};
use raspi_mcp::fleet::console::call::call_over;
use serde_json::{Value, json};
use tokio::{
    io::{copy_bidirectional, duplex},
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
