//! How much at once, how often, how long, and what happens to the one that breaks.

use crate::support::served::{Door, Pi};
use serde_json::json;

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped_and_says_how_long_it_had() {
    let pi = Pi::with(|settings| settings.limits.request_timeout_seconds = 1).await;
    let all = Door::ALL.map(|door| {
        let pi = &pi;
        async move {
            let mut wire = pi.on(door).await;
            let error = wire.call("test.hold", json!({})).await.failed("timeout").clone();
            assert_eq!((&error["code"], &error["timeoutMs"]), (&json!("TOOL_TIMEOUT"), &json!(1000)));
            assert!(error["hint"].is_string());
            let fault = wire.request("test.hold", json!({})).await;
            assert_eq!(fault.fault(-32010)["data"]["timeoutMs"], 1000);
        }
    });
    futures::future::join_all(all).await;
    pi.bench.until_dropped(10).await;
    pi.audit_of(10, "timeout").await;
}

#[tokio::test]
async fn a_panic_fails_its_call_and_nothing_else() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        let other = wire.ask("test.hold", json!({}));
        pi.bench.until_inside(1).await;
        let error = wire.call("test.panic", json!({})).await.failed("internal").clone();
        assert_eq!(error["code"], "INTERNAL");
        // What went wrong inside stays inside; the log has it.
        assert!(!error.to_string().contains("does what it is for"), "{error}");
        wire.request("test.panic", json!({})).await.fault(-32099);
        pi.bench.release.add_permits(1);
        wire.answer_to(other).await.result();
        wire.call("test.echo", json!({})).await.ok();
    }
    pi.audit_of(10, "internal").await;
    // The record says where, and in which thread.
    let record = pi.audited(|record| record["outcome"] == "internal").await;
    let message = record["message"].as_str().unwrap();
    assert!(message.contains("support/served/bench.rs:") && message.contains("thread "), "{record}");
}

#[tokio::test]
async fn a_panic_in_another_thread_is_recorded_with_its_place_there() {
    let pi = Pi::start().await;
    let _logs = pi.logs();
    pi.call("test.panic_elsewhere", json!({})).await.failed("internal");
    let record = pi.audited(|record| record["outcome"] == "internal").await;
    let message = record["message"].as_str().unwrap();
    assert!(message.contains("support/served/bench.rs:"), "{record}");
    let here = std::thread::current().name().unwrap_or_default().to_owned();
    assert!(!message.contains(&format!("thread {here};")), "{record}");
    let logged = pi.call("logs.get_recent_app_logs", json!({"level": "error"})).await;
    let line =
        logged.ok()["entries"].as_array().unwrap().iter().find(|line| line["fields"]["tool"] == "test.panic_elsewhere");
    let fields = &line.unwrap_or_else(|| panic!("{logged:?}"))["fields"];
    assert!(fields["place"].as_str().is_some_and(|place| place.contains("bench.rs:")), "{fields}");
    assert!(fields["cause"].as_str().is_some_and(|cause| cause.contains("in another thread")), "{fields}");
}

#[tokio::test]
async fn so_many_run_so_many_wait_and_the_next_is_refused() {
    let pi = Pi::with(|settings| {
        settings.limits.max_concurrent_requests = 2;
        settings.limits.max_waiting_requests = 3;
    })
    .await;
    for mut wire in pi.every_door().await {
        let running = [wire.ask("test.hold", json!({})), wire.ask("test.hold", json!({}))];
        pi.bench.until_inside(2).await;
        // Of four more three wait; whichever comes last is refused at once.
        let mut waiting = vec![];
        for _ in 0..4 {
            waiting.push(wire.ask("test.hold", json!({})));
        }
        let refused = wire.answer().await;
        assert_eq!(refused.fault(-32005)["data"]["details"]["limit"], 2);
        waiting.retain(|id| refused.id() != id);
        // Long waits are counted apart.
        let stream = wire.ask("test.stream", json!({}));
        pi.bench.until_inside(3).await;
        pi.bench.release.add_permits(6);
        for id in running.into_iter().chain(waiting).chain([stream]) {
            wire.answer_to(id).await.result();
        }
        pi.bench.until_inside(0).await;
    }
}

#[tokio::test]
async fn long_waits_have_a_limit_of_their_own() {
    let pi = Pi::with(|settings| settings.limits.max_streams = 1).await;
    for mut wire in pi.every_door().await {
        let first = wire.ask("test.stream", json!({}));
        pi.bench.until_inside(1).await;
        assert_eq!(wire.call("test.stream", json!({})).await.failed("resource_exhausted")["details"]["limit"], 1);
        wire.call("test.echo", json!({})).await.ok();
        pi.bench.release.add_permits(1);
        wire.answer_to(first).await.result();
    }
}

#[tokio::test]
async fn each_caller_has_its_own_rate_for_each_tool() {
    let pi = Pi::with(|settings| {
        settings.limits.reads_per_minute = 3;
        settings.limits.writes_per_minute = 1;
        settings.tools.enable.insert("test".into());
    })
    .await;
    // HTTP, the plain endpoint and WebSocket are one caller: the loopback interface.
    for door in [Door::Stdio, Door::Unix, Door::Http] {
        let mut wire = pi.on(door).await;
        for _ in 0..3 {
            wire.call("test.echo", json!({})).await.ok();
        }
        let error = wire.call("test.echo", json!({})).await.failed("resource_exhausted").clone();
        assert_eq!(error["details"]["limit_per_minute"], 3);
        let wait = error["details"]["retry_after_ms"].as_u64().unwrap();
        assert!((1..=20_000).contains(&wait), "{error}");
        // Another tool is another bucket, and a new connection is the same caller.
        wire.call("tools.search", json!({"query": "echo"})).await.ok();
        pi.on(door).await.call("test.echo", json!({})).await.failed("resource_exhausted");
    }
    let mut wire = pi.on(Door::Stdio).await;
    wire.call("test.write", json!({})).await.ok();
    wire.call("test.write", json!({})).await.failed("resource_exhausted");
    assert_eq!(pi.bench.ran(), 1);
    // Arguments that do not fit are no calls of their tool: they cost from the bucket of refusals.
    for _ in 0..5 {
        pi.call("test.steps", json!({})).await.refused("/steps");
    }
    pi.call("test.steps", json!({"steps": 1, "every_ms": 0})).await.ok();
}

#[tokio::test]
async fn an_approval_that_nobody_gives_says_whom_to_ask_and_ends_with_its_caller() {
    let pi = Pi::with(|settings| settings.approval.wait_seconds = 1).await;
    let mut wire = pi.on(Door::Stdio).await;
    let error = wire.call("test.ask", json!({})).await.failed("failed_precondition").clone();
    let ask = error["details"]["ask_id"].as_str().unwrap();
    assert!(error["hint"].as_str().unwrap().contains(&format!("raspi-mcp approve {ask}")), "{error}");
    assert_eq!(pi.bench.ran(), 0);
    pi.audited(|record| record["tool"] == "test.ask" && record["outcome"] == "failed_precondition").await;
}
