//! Withdrawing a request: exactly one answer, which says so, and only the caller's own requests.

use crate::support::served::{Door, Pi, Wire};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use serde_json::{Value, json};

/// Both notifications, with the id as it was sent and as the other JSON type.
fn withdrawals(id: i64) -> [(&'static str, Value); 4] {
    [
        ("notifications/cancelled", json!({"requestId": id, "reason": "changed my mind"})),
        ("notifications/cancelled", json!({"requestId": id.to_string()})),
        ("$/cancelRequest", json!({"id": id})),
        ("$/cancelRequest", json!({"id": id.to_string()})),
    ]
}

/// The same request in MCP's form and bare, with progress, which over HTTP takes another way, and one that rmcp carries.
fn requests() -> [(&'static str, Value); 4] {
    [
        ("tools/call", json!({"name": "test.hold", "arguments": {}})),
        ("test.hold", json!({})),
        ("tools/call", json!({"name": "test.hold", "arguments": {}, "_meta": {"progressToken": "p"}})),
        ("tools/call", json!({"name": "test.talk", "arguments": {}})),
    ]
}

async fn cancelled_once(pi: &Pi, wire: &mut Wire, method: &str, params: &Value, nth: usize) {
    let id = wire.ask(method, params.clone());
    pi.bench.until_inside(1).await;
    let (notification, target) = withdrawals(id)[nth].clone();
    wire.notify(notification, target);
    let answer = wire.answer_to(id).await;
    if method == "tools/call" {
        assert_eq!(answer.failed("cancelled")["code"], "CANCELLED");
    } else {
        assert_eq!(answer.fault(-32011)["data"]["error_code"], "cancelled");
    }
    pi.bench.until_inside(0).await;
    // A second withdrawal, and one after the answer, change nothing.
    let (notification, target) = withdrawals(id)[nth].clone();
    wire.notify(notification, target);
    wire.call("test.echo", json!({})).await.ok();
    assert!(!wire.seen.iter().any(|seen| *seen.id() == id), "two answers: {:#?}", wire.seen);
}

#[tokio::test]
async fn a_cancelled_call_ends_in_one_answer_that_says_so() {
    let (token, setting) = crate::support::served::token("mine", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens.push(setting)).await;
    for door in Door::ALL {
        for (method, params) in requests() {
            for nth in 0..4 {
                let mut wire = pi.on(door).await;
                if door == Door::Api {
                    // Without a session only a token says whose a request is.
                    wire.post().headers.push(("authorization".into(), format!("Bearer {token}")));
                } else {
                    wire.initialize("2025-11-25", "a client").await.result();
                }
                cancelled_once(&pi, &mut wire, method, &params, nth).await;
            }
        }
    }
    let records = pi.audit().await;
    let cancelled = records.iter().filter(|record| record["outcome"] == "cancelled").count();
    assert_eq!(cancelled, Door::ALL.len() * requests().len() * 4);
}

#[tokio::test]
async fn a_call_that_waits_for_a_place_can_be_withdrawn_too() {
    let pi = Pi::with(|settings| settings.limits.max_concurrent_requests = 1).await;
    for mut wire in pi.on_all(&Door::STREAMS).await {
        let first = wire.ask("test.hold", json!({}));
        pi.bench.until_inside(1).await;
        let second = wire.ask("test.echo", json!({}));
        wire.notify("$/cancelRequest", json!({"id": second}));
        wire.answer_to(second).await.fault(-32011);
        pi.bench.release.add_permits(1);
        wire.answer_to(first).await.result();
    }
}

#[tokio::test]
async fn nobody_withdraws_somebody_else_s_request() {
    let pi = Pi::start().await;
    for door in [Door::Stdio, Door::Unix, Door::Ws] {
        let (mut mine, mut yours) = (pi.on(door).await, pi.on(door).await);
        mine.raw(crate::support::served::request(&json!("same"), "test.hold", &json!({})));
        pi.bench.until_inside(1).await;
        for method in ["notifications/cancelled", "$/cancelRequest"] {
            yours.notify(method, json!({"requestId": "same"}));
        }
        yours.call("test.echo", json!({})).await.ok();
        pi.bench.release.add_permits(1);
        mine.answer_to("same").await.result();
    }
}

#[tokio::test]
async fn over_http_the_session_and_the_token_say_whose_a_request_is() {
    let (token, setting) = crate::support::served::token("other", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens.push(setting)).await;
    let stranger = ("authorization".to_owned(), format!("Bearer {token}"));
    for door in [Door::Http, Door::Api] {
        for params in [json!({}), json!({"_meta": {"progressToken": 1}})] {
            let mut mine = pi.on(door).await;
            let mut other_session = pi.on(door).await;
            let mut other_principal = pi.on(door).await;
            other_principal.post().headers.push(stranger.clone());
            if door == Door::Http {
                mine.initialize("2025-11-25", "mine").await.result();
                other_session.initialize("2025-11-25", "other").await.result();
            }
            let mut call = json!({"name": "test.hold", "arguments": {}});
            call["_meta"] = params["_meta"].clone();
            if call["_meta"].is_null() {
                call.as_object_mut().unwrap().remove("_meta");
            }
            mine.raw(crate::support::served::request(&json!("same"), "tools/call", &call));
            pi.bench.until_inside(1).await;
            let mut strangers = vec![&mut other_principal];
            // Without sessions only the principal tells callers apart.
            if door == Door::Http {
                strangers.push(&mut other_session);
            }
            for wire in strangers {
                wire.notify("notifications/cancelled", json!({"requestId": "same"}));
                wire.notify("$/cancelRequest", json!({"id": "same"}));
                wire.post().join().await;
                wire.call("test.echo", json!({})).await.ok();
            }
            pi.bench.release.add_permits(1);
            mine.answer_to("same").await.ok();
        }
    }
}

#[tokio::test]
async fn anonymous_callers_without_a_session_reach_nobody_s_requests() {
    let (token, setting) = crate::support::served::token("other", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens.push(setting)).await;
    let withdrawals = [
        ("notifications/cancelled", json!({"requestId": 1})),
        ("notifications/cancelled", json!({"requestId": "1"})),
        ("$/cancelRequest", json!({"id": 1})),
        ("$/cancelRequest", json!({"id": "1"})),
    ];
    for (mine, yours) in [(Door::Api, Door::Api), (Door::Http, Door::Http), (Door::Api, Door::Http)] {
        for (method, params) in requests() {
            let mut wire = pi.on(mine).await;
            wire.raw(crate::support::served::request(&json!(1), method, &params));
            pi.bench.until_inside(1).await;
            let (mut anonymous, mut in_session, mut known) =
                (pi.on(yours).await, pi.on(Door::Http).await, pi.on(yours).await);
            in_session.initialize("2025-11-25", "other").await.result();
            known.post().headers.push(("authorization".into(), format!("Bearer {token}")));
            for other in [&mut anonymous, &mut in_session, &mut known] {
                for (notification, target) in &withdrawals {
                    other.notify(notification, target.clone());
                    // In a batch, too.
                    let one = json!({"jsonrpc": "2.0", "method": notification, "params": target});
                    other.raw(json!([one]).to_string());
                }
                other.post().join().await;
            }
            pi.bench.release.add_permits(1);
            wire.answer_to(1).await.result();
            pi.bench.until_inside(0).await;
        }
    }
    assert!(pi.audit().await.iter().all(|record| record["outcome"] != "cancelled"));
}

#[tokio::test]
async fn somebody_else_s_session_is_no_session() {
    let (token, setting) = crate::support::served::token("other", Role::Admin);
    let pi = Pi::with(|settings| settings.access.tokens.push(setting)).await;
    let mut mine = pi.on(Door::Http).await;
    mine.initialize("2025-11-25", "mine").await.result();
    let session = mine.post().session();
    let mut thief = pi.on(Door::Http).await;
    thief.post().headers.push(("authorization".into(), format!("Bearer {token}")));
    thief.post().join_session(session);
    for method in ["tools/list", "ping", "test.echo", "tools/call"] {
        thief.request_unread(method, json!({})).await.under(404).fault(-32003);
    }
    mine.request("ping", json!({})).await.under(200).result();
}

#[tokio::test]
async fn a_client_that_hangs_up_has_withdrawn_everything() {
    let pi = Pi::with(|settings| settings.limits.shutdown_grace_seconds = 1).await;
    let mut gone = 0;
    for door in Door::ALL {
        for (method, params) in requests() {
            // No session over HTTP: in one, a lost stream is no withdrawal, since the client may come back for the rest.
            let mut wire = pi.on(door).await;
            if Door::STREAMS.contains(&door) {
                wire.initialize("2025-11-25", "a client").await.result();
            }
            wire.ask(method, params);
            pi.bench.until_inside(1).await;
            drop(wire);
            gone += 1;
            pi.bench.until_dropped(gone).await;
        }
    }
    pi.audit_of(gone, "cancelled").await;
}

#[tokio::test]
async fn who_may_be_told_apart_by_pipe_is() {
    // Two conversations of one principal are still two: ids are the connection's.
    let pi = Pi::start().await;
    let caller = || Caller::new("uid:1000", Role::ReadOnly, Transport::Unix);
    let (mut one, mut two) = (pi.stdio(caller()), pi.stdio(caller()));
    one.raw(crate::support::served::request(&json!(1), "test.hold", &json!({})));
    two.raw(crate::support::served::request(&json!(1), "test.hold", &json!({})));
    pi.bench.until_inside(2).await;
    two.notify("$/cancelRequest", json!({"id": 1}));
    two.answer_to(1).await.fault(-32011);
    pi.bench.until_inside(1).await;
    pi.bench.release.add_permits(1);
    one.answer_to(1).await.result();
}

#[tokio::test]
async fn what_comes_before_initialize_ends_no_conversation() {
    let pi = Pi::start().await;
    for door in Door::STREAMS {
        let mut wire = pi.on(door).await;
        wire.request("ping", json!({})).await.result();
        // rmcp would take each of these for the end of a conversation that has not begun.
        wire.notify("notifications/roots/list_changed", json!({}));
        wire.ask("ping", json!({}));
        wire.notify("notifications/cancelled", json!({"requestId": 2}));
        wire.answer_to(2).await;
        wire.request("ping", json!({})).await.result();
        wire.initialize("2025-11-25", "a client").await.result();
    }
}
