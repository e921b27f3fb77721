//! What only HTTP has: hosts, origins, content types, sessions, small writes.

use crate::support::served::{Door, Pi, request, soon};
use contract::meta::Role;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const PATHS: [&str; 3] = ["/mcp", "/api/mcp", "/ws"];

/// Sends a head and a body as they are; returns what comes back until the server hangs up.
async fn exchange(pi: &Pi, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(pi.address()).await.unwrap();
    let length = body.len();
    let text = format!("{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[tokio::test]
async fn strange_hosts_and_origins_are_turned_away_at_every_path() {
    let pi = Pi::with(|settings| {
        settings.http.allowed_hosts = vec!["pi.local".into()];
        settings.http.allowed_origins = vec!["https://desk.example".into()];
    })
    .await;
    let body = request(&json!(1), "test.echo", &json!({}));
    let port = pi.address().port();
    for path in PATHS {
        let method = if path == "/ws" { "GET" } else { "POST" };
        let head = |more: &str| format!("{method} {path} HTTP/1.1\r\nContent-Type: application/json\r\n{more}");
        for bad in [
            "Host: evil.example".to_owned(),
            "Host: localhost\r\nHost: localhost".to_owned(),
            format!("Host: localhost:{port}\r\nOrigin: https://evil.example"),
            format!("Host: localhost:{port}\r\nOrigin: null"),
            "Host: pi.local\r\nOrigin: https://desk.example.evil".to_owned(),
        ] {
            let answer = exchange(&pi, &head(&bad), &body).await;
            assert_eq!(status(&answer), "403", "{path} {bad}: {answer}");
            assert!(
                answer.contains(r#""error_code":"permission_denied""#) && answer.contains("http.allowed_"),
                "{answer}"
            );
        }
        for good in [
            format!("Host: 127.0.0.1:{port}"),
            "Host: pi.local\r\nOrigin: https://desk.example".to_owned(),
            format!("Host: localhost:{port}\r\nOrigin: http://localhost:3000"),
        ] {
            let answer = exchange(&pi, &head(&good), &body).await;
            assert_ne!(status(&answer), "403", "{path} {good}: {answer}");
        }
        let answer = exchange(&pi, &head("X-Nothing: 1"), &body).await;
        assert_eq!(status(&answer), "403", "{path} without a host: {answer}");
    }
}

#[tokio::test]
async fn only_json_is_read() {
    let pi = Pi::start().await;
    for path in ["/mcp", "/api/mcp"] {
        for (kind, expected) in [
            ("text/plain", "415"),
            ("application/x-www-form-urlencoded", "415"),
            ("application/jsonp", "415"),
            ("application/json", "200"),
            ("Application/JSON; charset=utf-8", "200"),
        ] {
            let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}");
            let answer = exchange(&pi, &head, &request(&json!(1), "test.echo", &json!({}))).await;
            assert_eq!(status(&answer), expected, "{path} {kind}: {answer}");
        }
        let head = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json");
        assert_eq!(status(&exchange(&pi, &head, "{}").await), "405");
    }
}

#[tokio::test]
async fn a_refusal_of_the_accept_header_is_json_rpc_and_ranges_are_understood() {
    let pi = Pi::start().await;
    for accept in ["text/html", "application/json", "text/event-stream", "image/*;q=0.9"] {
        let head = format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}");
        let answer = exchange(&pi, &head, "").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            status(head).starts_with('4') && head.to_ascii_lowercase().contains("content-type: application/json"),
            "{answer}"
        );
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        assert_eq!(
            (&body["jsonrpc"], &body["id"], &body["error"]["code"]),
            (&json!("2.0"), &Value::Null, &json!(-32600))
        );
    }
    let initialize = request(
        &json!(1),
        "initialize",
        &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    );
    let open = |accept: &str| {
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {accept}")
    };
    for accept in
        ["*/*", "*/*;q=0.1", "application/*, text/*", "text/event-stream, */*", "TEXT/event-stream, Application/JSON"]
    {
        let answer = exchange(&pi, &open(accept), &initialize).await;
        assert_eq!(status(&answer), "200", "{accept}: {answer}");
    }
    for accept in ["application/json", "text/html"] {
        let answer = exchange(&pi, &open(accept), &initialize).await;
        assert_eq!(status(&answer), "406", "{accept}: {answer}");
        assert!(answer.contains(r#""jsonrpc":"2.0""#) && answer.contains("text/event-stream"), "{answer}");
    }
}

#[tokio::test]
async fn a_token_decides_who_it_is_and_a_bad_one_is_refused() {
    let (good, setting) = crate::support::served::token("laptop", Role::Admin);
    let (expired, mut old) = crate::support::served::token("old", Role::Admin);
    old.expires = Some(time::OffsetDateTime::UNIX_EPOCH);
    let pi = Pi::with(|settings| settings.access.tokens = vec![setting, old]).await;
    for door in [Door::Http, Door::Api] {
        let mut wire = pi.on(door).await;
        wire.call("test.admin", json!({})).await.failed("permission_denied");
        wire.post().headers = vec![("authorization".into(), format!("Bearer {good}"))];
        wire.call("test.admin", json!({})).await.ok();
        let newest_success = pi.audited(|record| record["tool"] == "test.admin" && record["outcome"] == "ok").await;
        assert_eq!(newest_success["principal"], "token:laptop");
        for bad in [format!("Bearer {good}x"), format!("Bearer {expired}"), format!("Basic {good}"), "Bearer".into()] {
            wire.post().headers = vec![("authorization".into(), bad)];
            let answer = wire.request_unread("test.echo", json!({})).await;
            assert_eq!(answer.under(401).fault(-32002)["data"]["error_code"], "unauthenticated");
            assert!(!answer.message.to_string().contains(&good), "the token does not come back");
        }
    }
}

#[tokio::test]
async fn sessions_are_capped_and_a_closed_one_makes_room() {
    let pi = Pi::with(|settings| settings.http.session_limit = 2).await;
    let mut wires = pi.on_all(&[Door::Http, Door::Http, Door::Http]).await;
    for wire in &mut wires[..2] {
        wire.initialize("2025-11-25", "a client").await.result();
        assert!(wire.post().session().is_some());
    }
    let refusal = wires[2].initialize("2025-11-25", "one too many").await;
    assert_eq!(refusal.under(503).fault(-32005)["data"]["details"]["limit"], 2);
    // Calls need no session.
    wires[2].call("test.echo", json!({})).await.ok();
    let session = wires[0].post().session().unwrap();
    let head = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}");
    assert_eq!(status(&exchange(&pi, &head, "").await), "204");
    wires[2].initialize("2025-11-25", "now there is room").await.result();
    wires[0].request_unread("ping", json!({})).await.under(404).fault(-32003);
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends_and_one_in_use_does_not() {
    let pi = Pi::with(|settings| settings.http.session_idle_seconds = 1).await;
    let (mut idle, mut busy) = (pi.on(Door::Http).await, pi.on(Door::Http).await);
    idle.initialize("2025-11-25", "idle").await.result();
    busy.initialize("2025-11-25", "busy").await.result();
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(2200) {
        busy.call("test.echo", json!({})).await.ok();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    busy.request("ping", json!({})).await.result();
    let gone = idle.request_unread("ping", json!({})).await;
    assert!(gone.under(404).fault(-32003)["data"]["hint"].as_str().unwrap().contains("initialize"));
}

#[tokio::test]
async fn an_open_stream_keeps_its_session_alive() {
    let pi = Pi::with(|settings| settings.http.session_idle_seconds = 1).await;
    let mut wire = pi.on(Door::Http).await;
    wire.initialize("2025-11-25", "a listener").await.result();
    let _listening = wire.post().listen().await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    wire.request("ping", json!({})).await.result();
}

#[tokio::test]
async fn small_writes_do_not_wait_for_acknowledgements() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 100_000).await;
    // An event stream is several small writes: without TCP_NODELAY each waits for the one before it, 40 ms at a time.
    let mut params =
        crate::support::served::modern_meta(json!({"name": "test.steps", "arguments": {"steps": 1, "every_ms": 0}}));
    params["_meta"]["progressToken"] = json!("p");
    let body = request(&json!(1), "tools/call", &params);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: test.steps\r\n";
    let streamed = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let body = request(&json!(1), "test.steps", &json!({"steps": 1, "every_ms": 0}));
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let whole = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(pi.address()).await.unwrap();
    let (mut streams, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        wholes.push(timed(&mut stream, &whole, b"}").await);
        streams.push(timed(&mut stream, &streamed, b"0\r\n\r\n").await);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let (one, several) = (median(&mut wholes), median(&mut streams));
    println!("one write {one:.3} ms, several {several:.3} ms");
    assert!(several < one * 8.0, "one write {one:.3} ms, several {several:.3} ms");
}

/// Sends a request on a connection that stays open; how long until the answer had come, which ends with `end`.
async fn timed(stream: &mut TcpStream, text: &str, end: &[u8]) -> Duration {
    let (started, mut buffer, mut answer) = (Instant::now(), vec![0; 4096], Vec::new());
    stream.write_all(text.as_bytes()).await.unwrap();
    while !answer.ends_with(end) {
        let count = soon(stream.read(&mut buffer)).await.unwrap();
        assert!(count > 0, "hung up");
        answer.extend_from_slice(&buffer[..count]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    started.elapsed()
}

#[tokio::test]
async fn health_says_only_that_it_serves() {
    let pi = Pi::start().await;
    let answer = exchange(&pi, "GET /healthz HTTP/1.1\r\nHost: any.thing", "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok\n"), "{answer}");
}

#[tokio::test]
async fn headers_of_the_modern_era_must_repeat_the_body() {
    let pi = Pi::start().await;
    let params = crate::support::served::modern_meta(json!({"name": "test.echo", "arguments": {}}));
    let cases: [(&str, Option<&str>, u16, i64); 3] = [
        ("tools/list", Some("test.echo"), 400, -32020),
        ("tools/call", Some("test.other"), 400, -32020),
        ("tools/call", None, 400, -32020),
    ];
    let mut wire = pi.on(Door::Http).await;
    for (method, name, code, number) in cases {
        wire.modern(method, name);
        let answer = wire.request_unread("tools/call", params.clone()).await;
        answer.under(code).fault(i32::try_from(number).unwrap());
    }
    wire.modern("no.such.method", None);
    wire.request("no.such.method", crate::support::served::modern_meta(json!({}))).await.under(404).fault(-32601);
    let mut old = params.clone();
    old["_meta"]["io.modelcontextprotocol/protocolVersion"] = Value::from("1999-01-01");
    wire.modern("tools/call", Some("test.echo"));
    wire.post().headers[0].1 = "1999-01-01".into();
    wire.request_unread("tools/call", old).await.under(400).fault(-32022);
}

#[tokio::test]
async fn what_needs_a_session_says_so_and_the_plain_endpoint_needs_none() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Http).await;
    for method in ["ping", "logging/setLevel", "completion/complete"] {
        let fault = wire.request(method, json!({})).await;
        assert!(fault.under(400).fault(-32600)["message"].as_str().unwrap().contains("send initialize"));
    }
    // Most calls need none.
    wire.request("tools/list", json!({})).await.under(200).result();
    pi.on(Door::Api).await.request("ping", json!({})).await.under(200).result();
}

#[tokio::test]
async fn a_session_opened_under_odd_headers_is_as_good_as_any() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Http).await;
    let version = ("mcp-protocol-version".to_owned(), "2025-11-25".to_owned());
    wire.post().headers = vec![version.clone(), version];
    let answer = wire.initialize("2025-11-25", "a client").await;
    assert_eq!(answer.under(200).result()["protocolVersion"], "2025-11-25");
    wire.post().headers.clear();
    wire.request("ping", json!({})).await.under(200).result();
}
