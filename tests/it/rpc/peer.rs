//! rmcp's own client as the other end, on every transport and in both eras.

use crate::support::served::{Pi, soon};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use futures::{Sink, SinkExt, Stream, StreamExt, future};
use rmcp::{
    RoleClient, Service, ServiceExt,
    model::{
        CallToolRequestParams, ClientConfig, ClientRequest, Implementation, PingRequest, ProtocolVersion, ServerResult,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RunningService, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::json;
use std::io;
use tokio_tungstenite::tungstenite::{self, Message};

const LEGACY: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
];

fn client(version: ProtocolVersion) -> ClientConfig {
    let mut info = ClientConfig::default();
    info.protocol_version = version;
    info.client_info = Implementation::new("rmcp", "3.9.0");
    info
}

/// What every client does: list, call, be refused; and ping where there is one.
async fn converse<S: Service<RoleClient>>(client: RunningService<RoleClient, S>, pings: bool) {
    let tools = soon(client.list_all_tools()).await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "test_echo"));
    let call = |name: &'static str, args: serde_json::Value| {
        let mut params = CallToolRequestParams::new(name);
        params.arguments = args.as_object().cloned();
        client.call_tool(params)
    };
    let said = soon(call("test.echo", json!({"text": "hello"}))).await.unwrap();
    assert_eq!(said.structured_content, Some(json!({"text": "hello"})));
    assert_eq!(said.is_error, Some(false));
    let refused = soon(call("test.echo", json!({"text": 7}))).await.unwrap();
    assert_eq!(refused.is_error, Some(true));
    assert_eq!(refused.structured_content, None);
    let error = &refused.meta.unwrap().0[base::error::ERROR_META];
    assert_eq!(error["error_code"], "invalid_argument");
    assert!(soon(call("no.such.tool", json!({}))).await.is_err());
    if pings {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let pong = soon(client.send_request(ping)).await.unwrap();
        assert!(matches!(pong, ServerResult::EmptyResult(_)), "{pong:?}");
    }
    soon(client.cancel()).await.unwrap();
}

fn pipe(pi: &Pi) -> tokio::io::DuplexStream {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(theirs);
    let caller = Caller::new("stdio", Role::ReadOnly, Transport::Stdio);
    pi.server().tasks.spawn(raspi_mcp::transport::lines::serve(pi.server(), caller, reader, writer));
    ours
}

async fn socket(pi: &Pi) -> tokio::net::UnixStream {
    tokio::net::UnixStream::connect(&pi.server().pipeline.services.settings.socket.path).await.unwrap()
}

fn http(pi: &Pi) -> StreamableHttpClientTransport<reqwest::Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("http://{}/mcp", pi.address());
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    StreamableHttpClientTransport::with_client(reqwest::Client::new(), config)
}

/// One message a text frame, as rmcp's halves of a transport.
async fn websocket(
    pi: &Pi,
) -> (
    impl Sink<TxJsonRpcMessage<RoleClient>, Error = io::Error> + Send + Unpin + 'static,
    impl Stream<Item = RxJsonRpcMessage<RoleClient>> + Send + Unpin + 'static,
) {
    let (socket, _) = tokio_tungstenite::connect_async(format!("ws://{}/ws", pi.address())).await.unwrap();
    let (sink, stream) = socket.split();
    let sink = sink.sink_map_err(io::Error::other).with(|message: TxJsonRpcMessage<RoleClient>| {
        future::ready(serde_json::to_string(&message).map(Message::text).map_err(io::Error::other))
    });
    let stream = stream.filter_map(|message: Result<Message, tungstenite::Error>| {
        let text = message.ok().and_then(|message| message.into_text().ok());
        future::ready(text.and_then(|text| serde_json::from_str(&text).ok()))
    });
    (sink, stream)
}

#[tokio::test]
async fn the_legacy_handshake_works_in_every_revision_on_every_transport() {
    let pi = Pi::start().await;
    for version in LEGACY {
        converse(soon(client(version.clone()).serve(pipe(&pi))).await.unwrap(), true).await;
        converse(soon(client(version.clone()).serve(socket(&pi).await)).await.unwrap(), true).await;
        converse(soon(client(version.clone()).serve(http(&pi))).await.unwrap(), true).await;
        let served = soon(client(version.clone()).serve(websocket(&pi).await)).await.unwrap();
        assert_eq!(served.peer_info().unwrap().protocol_version, version);
        converse(served, true).await;
    }
}

#[tokio::test]
async fn the_modern_lifecycle_works_on_every_transport() {
    let pi = Pi::start().await;
    let modern = || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let who = || client(ProtocolVersion::V_2026_07_28);
    converse(soon(who().serve_with_lifecycle(pipe(&pi), modern())).await.unwrap(), false).await;
    converse(soon(who().serve_with_lifecycle(socket(&pi).await, modern())).await.unwrap(), false).await;
    converse(soon(who().serve_with_lifecycle(http(&pi), modern())).await.unwrap(), false).await;
    converse(soon(who().serve_with_lifecycle(websocket(&pi).await, modern())).await.unwrap(), false).await;
}
