//! Stopping: what runs may finish, what takes too long is cancelled, and nobody who does not read holds it up.

use crate::support::served::{Door, Pi, Wire, process::Process, request, soon};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use serde_json::json;
use std::time::Instant;
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn what_runs_when_the_server_stops_is_answered() {
    for door in Door::ALL {
        let pi = Pi::start().await;
        let bench = pi.bench.clone();
        let mut wire = pi.on(door).await;
        let id = wire.ask("test.hold", json!({}));
        bench.until_inside(1).await;
        let stopping = tokio::spawn(pi.stop());
        // Released only once the doors have heard of the stop.
        tokio::task::yield_now().await;
        bench.release.add_permits(1);
        wire.answer_to(id).await.result();
        stopping.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_exceeds_the_grace_is_cancelled_and_recorded() {
    let plain = json!({"name": "test.hold", "arguments": {}});
    // Over HTTP an event stream, which rmcp carries.
    let streamed = json!({"name": "test.hold", "arguments": {}, "_meta": {"progressToken": 1}});
    let calls = Door::ALL.into_iter().flat_map(|door| [(door, plain.clone()), (door, streamed.clone())]);
    let all = calls.map(|(door, params)| async move {
        let pi = Pi::with(|settings| settings.limits.shutdown_grace_seconds = 1).await;
        let (server, mut wire) = (pi.server(), pi.on(door).await);
        if door == Door::Http {
            wire.initialize("2025-11-25", "a client").await.result();
        }
        let id = wire.ask("tools/call", params);
        pi.bench.until_inside(1).await;
        let (started, stopping) = (Instant::now(), tokio::spawn(pi.stop_and_keep()));
        wire.answer_to(id).await.failed("cancelled");
        assert!(started.elapsed().as_secs_f64() >= 1.0, "{door:?}: before the grace was over");
        let _stored = stopping.await.unwrap().unwrap();
        assert!(server.tasks.is_empty(), "{door:?}: something was dropped, not ended");
        let audit = server.pipeline.services.audit.recent(Default::default(), 10, 0).await.unwrap().0;
        assert_eq!(audit[0]["outcome"], "cancelled", "{door:?}: {audit:#?}");
    });
    futures::future::join_all(all).await;
}

#[tokio::test]
async fn a_stream_that_a_client_only_listens_to_does_not_delay_the_stop() {
    let pi = Pi::with(|settings| settings.limits.shutdown_grace_seconds = 10).await;
    let mut wire = pi.on(Door::Http).await;
    wire.initialize("2025-11-25", "a listener").await.result();
    let mut listening = wire.post().listen().await;
    let (_unix, _ws) = (pi.on(Door::Unix).await, pi.on(Door::Ws).await);
    let started = Instant::now();
    pi.stop().await.unwrap();
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    while soon(listening.chunk()).await.is_ok_and(|chunk| chunk.is_some()) {}
}

#[tokio::test]
async fn new_connections_are_refused_once_it_stops() {
    let pi = Pi::start().await;
    let (address, socket) = (pi.address(), pi.server().pipeline.services.settings.socket.path.clone());
    pi.stop().await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    assert!(!socket.exists(), "the socket file is taken away");
}

#[tokio::test]
async fn the_end_of_input_lets_everything_be_answered() {
    let pi = Pi::start().await;
    for door in [Door::Stdio, Door::Unix] {
        let mut wire = pi.on(door).await;
        let held = wire.ask("test.hold", json!({}));
        for n in 0..20 {
            wire.raw(request(&json!(format!("n{n}")), "test.echo", &json!({})));
        }
        wire.ask("ping", json!({}));
        pi.bench.until_inside(1).await;
        wire.finish();
        pi.bench.release.add_permits(1);
        let rest = soon(wire.rest()).await;
        assert_eq!(rest.len(), 22, "{door:?}");
        assert!(rest.iter().any(|answer| *answer.id() == held));
    }
}

#[tokio::test]
async fn a_last_line_without_its_newline_counts() {
    let pi = Pi::start().await;
    let (mut ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(theirs);
    let caller = Caller::new("stdio", Role::ReadOnly, Transport::Stdio);
    let serving = tokio::spawn(raspi_mcp::transport::lines::serve(pi.server(), caller, reader, writer));
    ours.write_all(request(&json!(1), "test.echo", &json!({})).as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    let mut text = String::new();
    soon(tokio::io::AsyncReadExt::read_to_string(&mut ours, &mut text)).await.unwrap();
    assert!(text.contains(r#""id":1,"result""#), "{text}");
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn a_peer_that_does_not_read_does_not_keep_the_server_from_stopping() {
    let pi = Pi::with(|settings| {
        settings.limits.shutdown_grace_seconds = 1;
        settings.limits.reads_per_minute = 100_000;
    })
    .await;
    let (mut ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(theirs);
    let caller = Caller::new("stdio", Role::ReadOnly, Transport::Stdio);
    let server = pi.server();
    server.tasks.spawn(raspi_mcp::transport::lines::serve(pi.server(), caller, reader, writer));
    let ask = request(&json!(1), "tools/list", &json!({})) + "\n";
    while tokio::time::timeout(std::time::Duration::from_millis(200), ours.write_all(ask.as_bytes())).await.is_ok() {}
    let started = Instant::now();
    pi.stop().await.unwrap();
    assert!(server.tasks.is_empty(), "it was dropped, not ended");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    drop(ours);
}

#[tokio::test]
async fn the_program_ends_with_its_client_and_answers_first() {
    let (mut process, mut wire) = Process::stdio(&[]);
    wire.initialize("2025-11-25", "a client").await.result();
    let id = wire.ask("tools/call", json!({"name": "tools.search", "arguments": {"query": "search"}}));
    wire.finish();
    wire.answer_to(id).await.ok();
    assert!(soon(wire.rest()).await.is_empty());
    assert_eq!(process.ended().await, Some(0));
}

#[tokio::test]
async fn the_program_serves_over_http_and_its_socket() {
    let process = Process::http(&[]).await;
    let url = process.url.clone().unwrap();
    let (reader, writer) = tokio::net::UnixStream::connect(process.socket()).await.unwrap().into_split();
    let mut wires = [
        Wire::http(Door::Http, format!("{url}/mcp")),
        Wire::http(Door::Api, format!("{url}/api/mcp")),
        Wire::lines(Door::Unix, reader, writer),
        Wire::websocket(&format!("{}/ws", url.replacen("http", "ws", 1))).await,
    ];
    for wire in &mut wires {
        wire.call("tools.search", json!({"query": "basic"})).await.ok();
        wire.call("tools.search", json!({"query": 7})).await.refused("/query");
    }
}

#[tokio::test]
async fn the_program_stops_when_it_is_told_to() {
    let mut process = Process::http(&[]).await;
    let socket = process.socket();
    let client = tokio::net::UnixStream::connect(&socket).await.unwrap();
    process.terminate();
    assert_eq!(process.ended().await, Some(0));
    assert!(!socket.exists());
    let log = process.log.take().unwrap().await.unwrap();
    assert!(log.contains("stopping") && !log.contains("did not end in time"), "{log}");
    drop(client);
}
