//! Calls with an object of their own.

use super::{BusPi, CALL, Failed, Options, signal};
use crate::support::served::soon;
use serde_json::{Value, json};
use zbus::{Message, Variant};

fn finished(message: &Message) -> (bool, Value) {
    let body = message.body();
    let (ok, json): (bool, &str) = body.deserialize().unwrap();
    (ok, serde_json::from_str(json).unwrap())
}

#[tokio::test]
async fn a_started_call_reports_steps_and_its_end_to_its_caller_alone() {
    let pi = BusPi::start().await;
    let (caller, other) = (pi.caller().await, pi.caller().await);
    let mut hears = caller.hears();
    let path = caller.begin("test.steps", r#"{"steps": 3, "every_ms": 300}"#).await.unwrap();
    assert_eq!(path, "/org/raspimcp/calls/1");
    let step = signal(&mut hears, "Progress").await;
    assert_eq!(step.header().path().unwrap().as_str(), path);
    assert_eq!(step.header().destination().unwrap().as_str(), caller.connection.unique_name().unwrap().as_str());
    let (progress, total, message): (f64, f64, String) = step.body().deserialize().unwrap();
    assert_eq!((progress, total, message.as_str()), (0.0, 3.0, "step 0"));
    let running = caller.raw(&path, CALL, "Result", &()).await.unwrap();
    assert_eq!(running.body().deserialize::<(bool, String)>().unwrap(), (false, String::new()));
    Failed::of(other.raw(&path, CALL, "Result", &()).await.unwrap_err()).of_bus("UnknownObject");
    Failed::of(other.raw(&path, CALL, "Cancel", &()).await.unwrap_err()).of_bus("UnknownObject");
    let end = signal(&mut hears, "Finished").await;
    assert_eq!(finished(&end), (true, json!({"done": true})));
    let result = caller.raw(&path, CALL, "Result", &()).await.unwrap();
    assert_eq!(result.body().deserialize::<(bool, String)>().unwrap(), (true, r#"{"done":true}"#.into()));
    // A number has one written form.
    for wrong in ["/org/raspimcp/calls/01", "/org/raspimcp/calls/2", "/org/raspimcp/calls"] {
        let refused = Failed::of(caller.raw(wrong, CALL, "Result", &()).await.unwrap_err());
        assert!(refused.name.ends_with("UnknownObject") || refused.name.ends_with("UnknownMethod"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_started_call_that_fails_says_why() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let mut hears = caller.hears();
    let path = caller.begin("test.panic", "{}").await.unwrap();
    let (ok, error) = finished(&signal(&mut hears, "Finished").await);
    assert_eq!((ok, &error["error_code"]), (false, &json!("internal")));
    Failed::of(caller.raw(&path, CALL, "Result", &()).await.unwrap_err()).is("Internal");
    // What cannot begin has no object.
    caller.begin("test.nothing", "{}").await.unwrap_err().is("NotFound");
}

#[tokio::test]
async fn a_started_call_is_cancelled() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let mut hears = caller.hears();
    let path = caller.begin("test.hold", "{}").await.unwrap();
    pi.pi.bench.until_inside(1).await;
    caller.raw(&path, CALL, "Cancel", &()).await.unwrap();
    let (ok, error) = finished(&signal(&mut hears, "Finished").await);
    assert_eq!((ok, &error["error_code"]), (false, &json!("cancelled")));
    pi.pi.bench.until_dropped(1).await;
    Failed::of(caller.raw(&path, CALL, "Result", &()).await.unwrap_err()).is("Cancelled");
}

#[tokio::test]
async fn a_caller_gives_its_call_less_time() {
    let enable = |settings: &mut contract::config::Settings| settings.tools.enable.extend(["test".to_owned()]);
    let pi = BusPi::with(enable).await;
    let caller = pi.caller().await;
    let timeout = |ms: u32| Options::from([("timeout_ms", Variant::from(ms))]);
    let late = caller.call_with("test.hold", "{}", timeout(50)).await.unwrap_err().is("Timeout");
    assert!(late.message.contains("50 ms"), "{late:?}");
    pi.pi.bench.until_dropped(1).await;
    assert_eq!(caller.call_with("test.echo", "{}", timeout(60_000)).await.unwrap()["text"], "");
    // A write that does not end when it is told to ends as it ends.
    let write = caller.call_with("test.deed", r#"{"told": true, "heeds": true}"#, timeout(50)).await.unwrap_err();
    assert_eq!(write.is("Timeout").details["changed"], false);
}

#[tokio::test]
async fn who_leaves_has_its_calls_cancelled_and_its_objects_removed() {
    let pi = BusPi::start().await;
    for started in [false, true] {
        let caller = pi.caller().await;
        let calling = caller.connection.clone();
        let asked = tokio::spawn(async move {
            let (member, body) = (if started { "Start" } else { "Call" }, ("test.hold", "{}", Options::new()));
            let _ = calling.call_method(Some(super::NAME), super::OBJECT, Some(super::TOOLS), member, &body).await;
        });
        pi.pi.bench.until_inside(1).await;
        asked.abort();
        let _ = asked.await;
        soon(caller.connection.close()).await.unwrap();
        pi.pi.bench.until_dropped(usize::from(started) + 1).await;
        pi.pi.audit_of(usize::from(started) + 1, "cancelled").await;
    }
    let next = pi.caller().await;
    let xml: String = next
        .raw("/org/raspimcp/calls", "org.freedesktop.DBus.Introspectable", "Introspect", &())
        .await
        .unwrap()
        .body()
        .deserialize()
        .unwrap();
    assert_eq!(xml, "<node></node>\n");
}
