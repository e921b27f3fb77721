//! Writes that are withdrawn, or whose time is up, while they run: what the answer, its `_meta` and the audit say about them.

use crate::support::served::{Answer, Door, Pi, Wire, soon};
use contract::{config::Settings, meta::Role};
use serde_json::{Value, json};

async fn pi(change: impl FnOnce(&mut Settings)) -> Pi {
    Pi::with(|settings| {
        settings.tools.enable.insert("test".into());
        settings.access.loopback_role = Role::Admin;
        change(settings);
    })
    .await
}

/// Begins the call, and withdraws it once it is inside.
async fn withdrawn(pi: &Pi, wire: &mut Wire, args: Value) -> i64 {
    let id = wire.ask("tools/call", json!({"name": "test.deed", "arguments": args}));
    pi.bench.until_inside(1).await;
    wire.notify("$/cancelRequest", json!({"id": id}));
    id
}

/// `changed` and `stopped` of the error, which `_meta` and the newest record of the tool agree with.
async fn said(pi: &Pi, answer: &Answer, code: &str) -> (Value, Value, String) {
    let error = answer.failed(code);
    let record = pi.audited(|record| record["tool"] == "test.deed" && record.get("later").is_none()).await;
    let changed = error["details"]["changed"].clone();
    assert_eq!((&answer.meta()["changed"], &record["changed"]), (&changed, &changed), "{answer:#?} {record:#}");
    assert_eq!(record["outcome"], code);
    (changed, error["details"]["stopped"].clone(), error["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_write_that_stops_when_told_says_whether_it_changed_something() {
    for (first, changed, words) in [
        (false, false, "it was stopped and changed nothing"),
        (true, true, "it was stopped, but not before it changed something"),
    ] {
        let pi = pi(|_| {}).await;
        let mut wire = pi.on(Door::Stdio).await;
        let id = withdrawn(&pi, &mut wire, json!({"heeds": true, "first": first})).await;
        let answer = wire.answer_to(id).await;
        let (has, stopped, message) = said(&pi, &answer, "cancelled").await;
        assert_eq!((has, stopped), (json!(changed), json!(true)));
        assert!(message.contains(words), "{message}");
        assert_eq!(pi.audit().await.len(), 1, "one record, since nothing went on");
    }
}

#[tokio::test]
async fn one_that_cannot_stop_goes_on_in_its_place_and_its_outcome_is_recorded_when_it_comes() {
    let (token, setting) = crate::support::served::token("mine", Role::Admin);
    let pi = pi(|settings| settings.access.tokens.push(setting)).await;
    for door in [Door::Stdio, Door::Api] {
        let mut wire = pi.on(door).await;
        if door == Door::Api {
            // Without a session only a token says whose a request is.
            wire.post().headers.push(("authorization".into(), format!("Bearer {token}")));
        }
        let id = withdrawn(&pi, &mut wire, json!({"last": true})).await;
        let answer = wire.answer_to(id).await;
        let (changed, stopped, message) = said(&pi, &answer, "cancelled").await;
        assert_eq!((changed, stopped), (json!("unknown"), json!(false)));
        assert!(message.contains("it goes on"), "{message}");
        let load = || pi.server().pipeline.load().running;
        assert_eq!(load(), 1, "its place stays taken");
        let before = pi.audit().await.len();
        pi.bench.release.add_permits(1);
        let first = pi.audit().await.into_iter().find(|record| record.get("later").is_none()).unwrap();
        let later = pi.audited(|record| record["later"] == true && record["door"] == first["door"]).await;
        assert_eq!((&later["outcome"], &later["changed"]), (&json!("ok"), &json!(true)));
        for same in ["request_id", "args_sha256", "principal", "tool"] {
            assert_eq!(later[same], first[same]);
        }
        assert_eq!(pi.audit().await.len(), before + 1);
        soon(async {
            while load() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_bare_call_hears_the_same() {
    let pi = pi(|_| {}).await;
    let mut wire = pi.on(Door::Ws).await;
    let id = wire.ask("test.deed", json!({"heeds": true, "first": true}));
    pi.bench.until_inside(1).await;
    wire.notify("$/cancelRequest", json!({"id": id}));
    let details = wire.answer_to(id).await.fault(-32011)["data"]["details"].clone();
    assert_eq!((&details["changed"], &details["stopped"]), (&json!(true), &json!(true)));
}

#[tokio::test]
async fn one_that_ends_by_itself_after_the_withdrawal_is_not_called_stopped() {
    let pi = pi(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "test.deed", "arguments": {"told": true, "last": true}}));
    // Its intent is on record, so it has begun.
    pi.audited(|record| record["tool"] == "test.deed" && record["outcome"] == "unknown").await;
    wire.notify("$/cancelRequest", json!({"id": id}));
    // It is inside once it was told.
    pi.bench.until_inside(1).await;
    pi.bench.release.add_permits(1);
    let answer = wire.answer_to(id).await;
    let (changed, _, message) = said(&pi, &answer, "cancelled").await;
    assert_eq!(changed, true);
    assert!(message.contains("it had finished by then"), "{message}");
}

#[tokio::test]
async fn time_that_is_up_says_the_same_and_how_long_it_was() {
    let pi = pi(|settings| settings.limits.request_timeout_seconds = 1).await;
    let heeds = pi.call("test.deed", json!({"heeds": true, "first": true})).await;
    assert_eq!(heeds.failed("timeout")["timeoutMs"], 1000);
    let (changed, stopped, _) = said(&pi, &heeds, "timeout").await;
    assert_eq!((changed, stopped), (json!(true), json!(true)));
    let goes_on = pi.call("test.deed", json!({"last": true})).await;
    let (changed, stopped, _) = said(&pi, &goes_on, "timeout").await;
    assert_eq!((changed, stopped), (json!("unknown"), json!(false)));
    pi.bench.release.add_permits(1);
    assert_eq!(pi.audited(|record| record["later"] == true).await["changed"], true);
}

/// The records of calls that have ended: one that has not is in the audit as "unknown".
async fn ended(pi: &Pi) -> Vec<Value> {
    pi.audit().await.into_iter().filter(|record| record["outcome"] != "unknown").collect()
}

/// The newest of them, once there are so many.
async fn newest_of(pi: &Pi, count: usize) -> Value {
    soon(async {
        loop {
            let records = ended(pi).await;
            if records.len() >= count {
                return records[0].clone();
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_a_record_of_how_it_ended() {
    let pi = pi(|settings| settings.limits.shutdown_grace_seconds = 1).await;
    for door in [Door::Api, Door::Ws, Door::Http] {
        let mut wire = pi.on(door).await;
        wire.ask("tools/call", json!({"name": "test.deed", "arguments": {"last": true}}));
        pi.bench.until_inside(1).await;
        let before = ended(&pi).await.len();
        drop(wire);
        let answered = newest_of(&pi, before + 1).await;
        assert_eq!((&answered["changed"], &answered["outcome"]), (&json!("unknown"), &json!("cancelled")));
        pi.bench.release.add_permits(1);
        let newest = newest_of(&pi, before + 2).await;
        assert_eq!(
            (&newest["later"], &newest["changed"], &newest["outcome"]),
            (&json!(true), &json!(true), &json!("ok"))
        );
    }
    assert_eq!(pi.bench.dropped.borrow().to_owned(), 0, "none was dropped in mid-deed");
}

#[tokio::test]
async fn a_dry_run_is_dropped_at_once_and_changed_nothing() {
    let pi = pi(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let id = withdrawn(&pi, &mut wire, json!({"dry_run": true, "last": true})).await;
    let answer = wire.answer_to(id).await;
    pi.bench.until_dropped(1).await;
    let (changed, stopped, _) = said(&pi, &answer, "cancelled").await;
    assert_eq!((changed, stopped), (json!(false), json!(true)));
}

#[tokio::test]
async fn one_that_waits_for_a_place_has_changed_nothing() {
    let pi = pi(|settings| settings.limits.max_concurrent_requests = 1).await;
    let mut wire = pi.on(Door::Stdio).await;
    let first = wire.ask("test.hold", json!({}));
    pi.bench.until_inside(1).await;
    let second = wire.ask("tools/call", json!({"name": "test.deed", "arguments": {"first": true}}));
    wire.notify("$/cancelRequest", json!({"id": second}));
    let answer = wire.answer_to(second).await;
    let (changed, stopped, _) = said(&pi, &answer, "cancelled").await;
    assert_eq!((changed, stopped), (json!(false), json!(true)));
    pi.bench.release.add_permits(1);
    wire.answer_to(first).await.result();
}
