//! One weak caller that takes all it can get: others still find places, and approvals are still asked for.

use crate::{
    agent::doors::Flood,
    support::served::{Door, Pi, Wire, soon, token},
};
use base::os::local;
use contract::meta::Role;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::{io::AsyncReadExt, net::UnixStream};

/// A conversation that shows a token.
async fn known(pi: &Pi, door: Door, token: &str) -> Wire {
    let mut wire = pi.on(door).await;
    wire.post().headers.push(("authorization".into(), format!("Bearer {token}")));
    wire
}

#[tokio::test]
async fn long_waits_starve_no_approval_and_no_other_caller() {
    let (token, setting) = token("other", Role::ReadOnly);
    let pi = Pi::with(|settings| {
        settings.access.tokens.push(setting);
        settings.limits.max_streams = 8;
        settings.approval.wait_seconds = 1;
    })
    .await;
    let mut flood = pi.on(Door::Ws).await;
    for _ in 0..4 {
        flood.ask("test.stream", json!({}));
    }
    pi.bench.until_inside(4).await;
    let refused = flood.call("test.stream", json!({})).await.failed("resource_exhausted").clone();
    assert_eq!((&refused["details"]["limit"], &refused["details"]["limit_of"]), (&json!(4), &json!("caller")));
    assert!(refused["hint"].is_string());
    // The same caller by another door, and more of its connections, is the same caller.
    pi.on(Door::Api).await.call("test.stream", json!({})).await.failed("resource_exhausted");
    // Somebody else has room, and the person is asked.
    let mut other = known(&pi, Door::Api, &token).await;
    for n in 5..=7 {
        other.ask("test.stream", json!({}));
        pi.bench.until_inside(n).await;
    }
    other.call("test.stream", json!({})).await.failed("resource_exhausted");
    let mut root = pi.on(Door::Stdio).await;
    root.ask("test.stream", json!({}));
    pi.bench.until_inside(8).await;
    root.call("test.ask", json!({})).await.failed("failed_precondition");
}

#[tokio::test]
async fn a_full_queue_of_one_caller_is_not_in_front_of_the_others() {
    let (token, setting) = token("other", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens.push(setting)).await;
    let mut flood = pi.on(Door::Ws).await;
    for _ in 0..64 {
        flood.ask("test.hold", json!({}));
    }
    // Of ten places five, of the queue a half; the rest is refused.
    for _ in 0..64 - 5 - 32 {
        flood.answer().await.fault(-32005);
    }
    pi.bench.until_inside(5).await;
    let mut other = known(&pi, Door::Api, &token).await;
    other.call("test.echo", json!({})).await.ok();
    pi.on(Door::Stdio).await.call("test.echo", json!({})).await.ok();
    let load = pi.server().pipeline.load();
    assert_eq!((load.running, load.waiting), (5, 32));
}

#[tokio::test]
async fn connections_in_use_are_shared_and_admins_get_in() {
    let (good, setting) = token("root", Role::Admin);
    let pi = Pi::with(|settings| {
        settings.access.tokens.push(setting);
        settings.http.max_connections = 8;
    })
    .await;
    // Each POST that is open is a connection of its own.
    let mut busy = Vec::new();
    for n in 1..=4 {
        let mut wire = pi.on(Door::Api).await;
        wire.ask("test.stream", json!({}));
        pi.bench.until_inside(n).await;
        busy.push(wire);
    }
    let refused = pi.on(Door::Api).await.request_unread("test.echo", json!({})).await;
    assert_eq!(refused.under(429).fault(-32005)["data"]["details"]["limit"], 4);
    for _ in 0..3 {
        known(&pi, Door::Api, &good).await.call("test.echo", json!({})).await.ok();
    }
    pi.bench.release.add_permits(4);
    for wire in &mut busy {
        wire.answer().await.result();
    }
    pi.on(Door::Api).await.call("test.echo", json!({})).await.ok();
}

#[tokio::test]
async fn idle_connections_make_room_and_those_in_use_stay() {
    let pi = Pi::with(|settings| {
        settings.socket.max_connections = 4;
        settings.http.max_connections = 4;
    })
    .await;
    for door in [Door::Unix, Door::Ws] {
        let mut subscribed = pi.on(door).await;
        subscribed.initialize("2025-11-25", "a client").await.result();
        subscribed.request("resources/subscribe", json!({"uri": "raspi://health"})).await.result();
        let mut busy = pi.on(door).await;
        busy.ask("test.hold", json!({}));
        pi.bench.until_inside(1).await;
        for _ in 0..40 {
            // Each takes the place of the one before the last.
            pi.on(door).await.call("test.echo", json!({})).await.ok();
            std::mem::forget(pi.on(door).await);
        }
        subscribed.call("test.echo", json!({})).await.ok();
        pi.bench.release.add_permits(1);
        busy.answer().await.result();
        drop((subscribed, busy));
    }
}

#[tokio::test]
async fn silent_peers_of_the_socket_are_let_go_for_one_that_speaks() {
    let pi = Pi::start().await;
    let path = pi.server().pipeline.services.settings.socket.path.clone();
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(UnixStream::connect(&path).await.unwrap());
    }
    pi.on(Door::Unix).await.call("test.echo", json!({})).await.ok();
    // The longest idle have been hung up on.
    assert_eq!(soon(silent[0].read(&mut [0; 1])).await.unwrap(), 0);
}

#[tokio::test]
async fn root_gets_through_a_flood_of_connections_at_the_socket_within_a_second() {
    let pi = Pi::start().await;
    let path = pi.server().pipeline.services.settings.socket.path.clone();
    let flood = Flood::at(&path);
    let (mut slowest, started, mut calls) = (Duration::ZERO, Instant::now(), 0);
    while calls < 20 || !flood.is_enough(started) {
        calls += 1;
        let began = Instant::now();
        let request = json!({"jsonrpc": "2.0", "id": calls, "method": "system.get_clock", "params": {}});
        let answer = local::request(&path, &request).await.unwrap();
        assert!(answer["result"].is_object(), "{answer}");
        slowest = slowest.max(began.elapsed());
    }
    let (connected, full) = flood.end();
    println!("slowest of {calls} after {slowest:?}; {connected} connections of the flood, {full} found the queue full");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    assert!(full > 0, "the queue was never full: {connected}");
    pi.stop().await.unwrap();
}
