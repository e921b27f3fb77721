//! Subscriptions: who hears of what, in both eras, and within which bounds.

use super::{DOORS, conversation, modern, read};
use crate::support::served::{Answer, Door, Pi, Wire, modern_meta, soon};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use raspi_mcp::resources::subscriptions::{IN_ALL, PER_CONVERSATION};
use serde_json::{Value, json};

#[track_caller]
fn is_update(news: &Answer, uri: &str) {
    assert_eq!(news.message["method"], "notifications/resources/updated", "{news:#?}");
    assert_eq!(news.message["params"]["uri"], uri, "{news:#?}");
}

async fn subscribe(wire: &mut Wire, uri: &str) -> Answer {
    wire.request("resources/subscribe", json!({ "uri": uri })).await
}

/// Waits until the server has so many subscriptions.
async fn until_subscribed(pi: &Pi, n: usize) {
    let server = pi.server();
    soon(async {
        while server.subscriptions.count() != n {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_is_news_of_the_audit_and_reading_the_audit_is_not() {
    let pi = Pi::start().await;
    for door in DOORS {
        let mut wire = conversation(&pi, door).await;
        let uri = "raspi://audit?outcome=ok";
        assert_eq!(*subscribe(&mut wire, uri).await.result(), json!({}), "{door:?}");
        read(&mut wire, uri).await;
        read(&mut wire, "raspi://audit").await;
        wire.call("test.echo", json!({"text": 7})).await.refused("/text");
        assert!(
            wire.seen.is_empty(),
            "neither a read of the audit nor a refusal is what it asked for: {:#?}",
            wire.seen
        );
        wire.call("test.echo", json!({"text": "hello"})).await.ok();
        is_update(&wire.next().await.unwrap(), uri);
        let entries = read(&mut wire, uri).await["entries"].clone();
        assert!(entries.as_array().unwrap().iter().any(|entry| entry["tool"] == "test.echo"), "{entries:#}");

        assert_eq!(*wire.request("resources/unsubscribe", json!({ "uri": uri })).await.result(), json!({}));
        wire.call("test.echo", json!({"text": "hello"})).await.ok();
        wire.request("ping", json!({})).await.result();
        assert!(wire.seen.is_empty(), "{door:?}: {:#?}", wire.seen);
    }
}

#[tokio::test]
async fn many_changes_are_one_piece_of_news_a_second() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 100_000).await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    subscribe(&mut wire, "raspi://audit").await.result();
    let started = std::time::Instant::now();
    for _ in 0..300 {
        wire.call("test.echo", json!({"text": "again"})).await.ok();
    }
    let allowed = 2 + started.elapsed().as_secs() as usize;
    assert!((1..=allowed).contains(&wire.seen.len()), "{} notifications, {allowed} allowed", wire.seen.len());
}

#[tokio::test]
async fn nobody_hears_of_calls_whose_records_are_not_theirs_to_see() {
    let pi = Pi::start().await;
    let mut guest = pi.stdio(Caller::new("guest", Role::ReadOnly, Transport::Stdio));
    guest.initialize("2025-11-25", "a client").await.result();
    subscribe(&mut guest, "raspi://audit").await.result();
    let mut admin = conversation(&pi, Door::Stdio).await;
    subscribe(&mut admin, "raspi://audit").await.result();

    admin.call("test.echo", json!({"text": "mine"})).await.ok();
    is_update(&admin.next().await.unwrap(), "raspi://audit");
    guest.request("ping", json!({})).await.result();
    assert!(guest.seen.is_empty(), "{:#?}", guest.seen);
    guest.call("test.echo", json!({"text": "mine"})).await.ok();
    is_update(&guest.next().await.unwrap(), "raspi://audit");
    is_update(&admin.next().await.unwrap(), "raspi://audit");
}

#[tokio::test]
async fn a_session_over_http_hears_on_its_stream() {
    let pi = Pi::start().await;
    let mut wire = conversation(&pi, Door::Http).await;
    let mut stream = wire.post().listen().await;
    subscribe(&mut wire, "raspi://audit").await.under(200).result();
    wire.call("test.echo", json!({"text": "hello"})).await.ok();
    let mut text = String::new();
    while !text.contains("notifications/resources/updated") {
        let chunk = soon(stream.chunk()).await.unwrap().expect("the stream is open");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains("raspi://audit"), "{text}");
    // The plain endpoint answers and forgets: nothing could be sent later.
    let mut plain = pi.on(Door::Api).await;
    for (method, params) in
        [("resources/subscribe", json!({"uri": "raspi://audit"})), ("logging/setLevel", json!({"level": "info"}))]
    {
        let answer = plain.request(method, params).await;
        assert!(answer.fault(-32600)["message"].as_str().unwrap().contains("/mcp"), "{answer:#?}");
    }
}

#[tokio::test]
async fn since_2026_07_28_a_request_listens_and_ends_with_its_cancellation() {
    let pi = Pi::start().await;
    for door in [Door::Stdio, Door::Unix, Door::Http, Door::Ws] {
        let mut wire = pi.on(door).await;
        wire.modern("subscriptions/listen", None);
        let wanted = json!({"notifications": {
            "toolsListChanged": true,
            "resourceSubscriptions": ["raspi://audit", "raspi://nothing", "raspi://health"],
        }});
        let id = wire.ask("subscriptions/listen", modern_meta(wanted));
        let accepted = wire.next().await.unwrap().message;
        assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{door:?}: {accepted:#}");
        let listed = &accepted["params"]["notifications"];
        assert_eq!(listed["resourceSubscriptions"], json!(["raspi://audit", "raspi://health"]), "{accepted:#}");
        assert_eq!(listed["toolsListChanged"], true, "raspi-mcp allow changes it: {accepted:#}");
        until_subscribed(&pi, 2).await;

        // Of the same principal, whichever the door.
        let mut other = pi.on(door).await;
        modern(&mut other, "tools/call", Some("test.echo"), json!({"name": "test.echo", "arguments": {"text": "x"}}))
            .await
            .ok();
        let news = wire.next().await.unwrap();
        is_update(&news, "raspi://audit");
        assert_eq!(news.message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{door:?}");
        if door == Door::Http {
            drop(wire);
        } else {
            wire.notify("notifications/cancelled", json!({"requestId": id}));
        }
        until_subscribed(&pi, 0).await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_cannot_be_subscribed_to() {
    let pi = Pi::with(|settings| settings.tools.disable.extend(["logs".to_owned()])).await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    subscribe(&mut wire, "raspi://logs/app").await.fault(-32001);
    subscribe(&mut wire, "raspi://nothing").await.fault(-32002);
    subscribe(&mut wire, "raspi://health?level=warn").await.fault(-32602);
    wire.request("logging/setLevel", json!({"level": "debug"})).await.fault(-32001);
    let listen = json!({"notifications": {"resourceSubscriptions": ["raspi://logs/app"]}});
    let id = wire.ask("subscriptions/listen", modern_meta(listen));
    wire.answer_to(id).await.fault(-32001);
    assert_eq!(pi.server().subscriptions.count(), 0);
    // Refused attempts are on record: two subscriptions and a level.
    pi.audit_of(3, "permission_denied").await;

    let pi = Pi::start().await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    let answer = subscribe(&mut wire, "raspi://logs/app?level=loud").await;
    assert_eq!(answer.fault(-32602)["data"]["details"]["path"], "/level");
}

#[tokio::test]
async fn subscriptions_are_bounded_and_end_with_their_conversation() {
    let pi = Pi::start().await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    for n in 0..PER_CONVERSATION {
        let uri = format!("raspi://audit?limit={}", n + 1);
        subscribe(&mut wire, &uri).await.result();
        subscribe(&mut wire, &uri).await.result();
    }
    assert_eq!(pi.server().subscriptions.count(), PER_CONVERSATION, "the same one twice is one");
    let refusal = subscribe(&mut wire, "raspi://audit").await;
    assert_eq!(refusal.fault(-32005)["data"]["details"]["limit"], PER_CONVERSATION);
    // Its log level is none of them.
    for level in ["warning", "error"] {
        wire.request("logging/setLevel", json!({"level": level})).await.result();
    }
    assert_eq!(pi.server().subscriptions.count(), PER_CONVERSATION + 1);
    wire.request("logging/setLevel", json!({"level": "warning"})).await.result();
    drop(wire);
    until_subscribed(&pi, 0).await;

    let mut wires = Vec::new();
    for _ in 0..IN_ALL / PER_CONVERSATION {
        let mut wire = conversation(&pi, Door::Stdio).await;
        for n in 0..PER_CONVERSATION {
            subscribe(&mut wire, &format!("raspi://audit?limit={}", n + 1)).await.result();
        }
        wires.push(wire);
    }
    let mut last = conversation(&pi, Door::Stdio).await;
    assert_eq!(subscribe(&mut last, "raspi://audit").await.fault(-32005)["data"]["details"]["limit"], IN_ALL);
    wires.pop();
    until_subscribed(&pi, IN_ALL - PER_CONVERSATION).await;
    subscribe(&mut last, "raspi://audit").await.result();
    drop((wires, last));
    until_subscribed(&pi, 0).await;
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_holds_up_nobody_and_no_stop() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 100_000).await;
    let mut deaf = tokio::net::UnixStream::connect(&pi.server().pipeline.services.settings.socket.path).await.unwrap();
    let say =
        |id: i64, method: &str, params: Value| crate::support::served::request(&json!(id), method, &params) + "\n";
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "d", "version": "1"}});
    let begin = say(1, "initialize", hello) + &say(2, "resources/subscribe", json!({"uri": "raspi://audit"}));
    tokio::io::AsyncWriteExt::write_all(&mut deaf, begin.as_bytes()).await.unwrap();
    until_subscribed(&pi, 1).await;
    let mut all = String::new();
    // More than its socket and the way there hold: from now on nothing reaches it.
    for id in 3..9 {
        all += &say(id, "test.big", json!({"bytes": 900_000}));
    }
    tokio::io::AsyncWriteExt::write_all(&mut deaf, all.as_bytes()).await.unwrap();
    pi.audited(|record| record["tool"] == "test.big").await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    subscribe(&mut wire, "raspi://audit").await.result();
    for _ in 0..2 {
        wire.call("test.echo", json!({"text": "hello"})).await.ok();
        is_update(&wire.next().await.unwrap(), "raspi://audit");
    }
    drop(wire);
    pi.stop().await.unwrap();
}
