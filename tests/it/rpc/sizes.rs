//! Sizes at their edges, and senders and readers that take their time.

use crate::support::served::{Door, PATIENCE, Pi, soon};
use contract::access::caller::{Caller, Transport};
use contract::meta::Role;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const MIB: usize = 1024 * 1024;

/// A request of exactly this many bytes, whose answer is small.
fn of_size(bytes: usize) -> String {
    let head = r#"{"jsonrpc":"2.0","id":"big","method":"test.echo","params":{"txt":""#;
    let tail = r#""}}"#;
    format!("{head}{}{tail}", "x".repeat(bytes - head.len() - tail.len()))
}

#[tokio::test]
async fn a_mebibyte_is_read_and_one_byte_more_is_not() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        wire.raw(of_size(MIB));
        // It was read whole: the refusal is about its parameter.
        wire.answer_to("big").await.under(200).fault(-32602);
        wire.raw(of_size(MIB + 1));
        let answer = wire.answer().await;
        let error = answer.under(413).fault(-32008);
        assert_eq!(error["data"]["error_code"], "content_too_large");
        assert_eq!(error["data"]["details"]["limit_bytes"], MIB);
        assert!(answer.id().is_null());
        if wire.door == Door::Ws {
            // A frame that is not read cannot be stepped over: the connection ends.
            assert!(wire.next().await.is_none());
        } else {
            wire.call("test.echo", json!({})).await.ok();
        }
    }
}

#[tokio::test]
async fn an_endless_line_costs_no_memory_and_one_answer() {
    let pi = Pi::with(|settings| settings.limits.max_request_bytes = 4096).await;
    let mut stream = tokio::net::UnixStream::connect(socket(&pi)).await.unwrap();
    for _ in 0..64 {
        stream.write_all(&[b'x'; 64 * 1024]).await.unwrap();
    }
    stream.write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test.echo\"}\n").await.unwrap();
    let mut text = String::new();
    stream.shutdown().await.unwrap();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("-32008") && lines[1].contains(r#""id":1,"result""#), "{text}");
}

#[tokio::test]
async fn a_body_that_dribbles_is_given_up() {
    let pi = Pi::with(|settings| settings.http.body_timeout_seconds = 1).await;
    for path in ["/mcp", "/api/mcp"] {
        let mut stream = tokio::net::TcpStream::connect(pi.address()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut text = String::new();
        // The server ends the connection: what is left of the body is not worth reading.
        soon(stream.read_to_string(&mut text)).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 408"), "{text}");
        assert!(text.contains(r#""error_code":"timeout""#) && text.contains(r#""timeoutMs":1000"#), "{text}");
    }
    pi.on(Door::Http).await.call("test.echo", json!({})).await.ok();
}

#[tokio::test]
async fn a_declared_giant_is_refused_before_it_is_sent() {
    let pi = Pi::start().await;
    let mut stream = tokio::net::TcpStream::connect(pi.address()).await.unwrap();
    let head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused_and_says_what_to_do() {
    let pi = Pi::with(|settings| settings.limits.max_response_bytes = 64 * 1024).await;
    for mut wire in pi.every_door().await {
        // {"text":"…"} has eleven bytes of its own.
        wire.call("test.big", json!({"bytes": 64 * 1024 - 11})).await.ok();
        let answer = wire.call("test.big", json!({"bytes": 64 * 1024 - 10})).await;
        let error = answer.failed("content_too_large");
        assert_eq!(error["details"]["limit_bytes"], 64 * 1024);
        assert!(error["hint"].as_str().unwrap().contains("limit"));
    }
    pi.audited(|record| record["outcome"] == "content_too_large").await;
}

#[tokio::test]
async fn who_does_not_read_is_not_read_either() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 100_000).await;
    let (mut ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(theirs);
    let caller = Caller::new("stdio", Role::ReadOnly, Transport::Stdio);
    tokio::spawn(raspi_mcp::transport::lines::serve(pi.server(), caller, reader, writer));
    // Each answer has 64 KiB and more (text and structure): a megabyte waits after a dozen, and then nothing more is taken.
    let ask = |id: usize| {
        crate::support::served::request(
            &json!(id),
            "tools/call",
            &json!({"name": "test.big", "arguments": {"bytes": 65536}}),
        ) + "\n"
    };
    let mut taken = 0;
    while tokio::time::timeout(Duration::from_millis(500), ours.write_all(ask(taken).as_bytes())).await.is_ok() {
        taken += 1;
        assert!(taken < 2000, "the server reads on and on");
    }
    // What was taken is answered once somebody reads, each exactly once, and then reading goes on.
    let (reader, mut writer) = tokio::io::split(ours);
    let rest = tokio::spawn(async move {
        // The half-written request above is completed into a line of nonsense.
        writer.write_all(b"\n").await.unwrap();
        writer.write_all(ask(5000).as_bytes()).await.unwrap();
        writer
    });
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(reader));
    let mut ids = std::collections::HashSet::new();
    while !ids.contains("5000") {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(ids.insert(message["id"].to_string()), "two answers for {}", message["id"]);
    }
    drop(rest.await.unwrap());
    assert!(ids.len() >= taken, "{} answers for {taken} requests", ids.len());
}

fn socket(pi: &Pi) -> std::path::PathBuf {
    pi.server().pipeline.services.settings.socket.path.clone()
}
