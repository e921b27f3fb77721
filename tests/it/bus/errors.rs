//! What is refused, and how it is told.

use super::{BusPi, CALL, EVENTS, Failed, NAME, OBJECT, Options, TOOLS};
use crate::support::served::soon;
use serde_json::json;
use zbus::Variant;

#[tokio::test]
async fn each_refusal_of_a_call_has_the_name_of_its_code() {
    let pi = BusPi::with(|settings| {
        settings.tools.disable.insert("tools.search".into());
        settings.limits.max_response_bytes = 64 * 1024;
        settings.approval.wait_seconds = 0;
    })
    .await;
    let caller = pi.caller().await;
    let refused = async |tool: &str, args: &str| caller.call(tool, args).await.unwrap_err();
    assert_eq!(refused("test.echo", r#"{"text": 7}"#).await.is("InvalidArgument").details["path"], "/text");
    refused("test.echo", "[]").await.is("InvalidArgument");
    refused("test.echo", "").await.is("InvalidArgument");
    refused("test.echo", &format!("{{\"text\": {}1{}}}", "[".repeat(64), "]".repeat(64))).await.is("InvalidArgument");
    refused("no.such", "{}").await.is("NotFound");
    refused("tools.search", r#"{"query": "clock"}"#).await.is("PermissionDenied");
    refused("test.ask", "{}").await.is("FailedPrecondition");
    refused("test.panic", "{}").await.is("Internal");
    refused("test.big", r#"{"bytes": 65536}"#).await.is("ContentTooLarge");
    for (key, value) in [
        ("timeout_ms", Variant::from(0_u32)),
        ("timeout_ms", Variant::from(5_i32)),
        ("correlation_id", Variant::from("x".repeat(129))),
        ("colour", Variant::from("red")),
    ] {
        let error = caller.call_with("test.echo", "{}", Options::from([(key, value)])).await.unwrap_err();
        assert_eq!(error.is("InvalidArgument").details["path"], format!("/options/{key}"));
    }
}

#[tokio::test]
async fn a_body_of_other_types_and_what_does_not_exist_have_d_bus_s_own_errors() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let wrong = caller.tools("Call", &"test.echo").await;
    let wrong = Failed::of(wrong.unwrap_err()).of_bus("InvalidArgs");
    assert_eq!(wrong.message, "Call takes \"ssa{sv}\", not \"s\"");
    let none = Options::new();
    Failed::of(caller.tools("Call", &(1_u32, "{}", &none)).await.unwrap_err()).of_bus("InvalidArgs");
    Failed::of(caller.tools("List", &()).await.unwrap_err()).of_bus("InvalidArgs");
    Failed::of(caller.tools("Call", &("test.echo", "{}", &none, 1_u32)).await.unwrap_err()).of_bus("InvalidArgs");
    let names = vec![1_u32];
    Failed::of(caller.raw(OBJECT, EVENTS, "Subscribe", &names).await.unwrap_err()).of_bus("InvalidArgs");
    Failed::of(caller.tools("Fly", &()).await.unwrap_err()).of_bus("UnknownMethod");
    Failed::of(caller.raw(OBJECT, EVENTS, "List", &none).await.unwrap_err()).of_bus("UnknownMethod");
    Failed::of(caller.raw(OBJECT, CALL, "Result", &()).await.unwrap_err()).of_bus("UnknownMethod");
    Failed::of(caller.raw("/org", TOOLS, "List", &none).await.unwrap_err()).of_bus("UnknownMethod");
    Failed::of(caller.raw("/other", TOOLS, "List", &none).await.unwrap_err()).of_bus("UnknownObject");
    // Without an interface the member says which one is meant.
    let call = soon(caller.connection.call_method(Some(NAME), OBJECT, None::<&str>, "List", &none)).await;
    call.unwrap();
}

#[tokio::test]
async fn a_message_may_have_a_mebibyte_and_no_byte_more() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    // Names and lengths around the text, in bytes.
    let around = {
        let body = ("test.echo", r#"{"text":""}"#, Options::new());
        zbus::Message::method_call("/", "A").build(&body).unwrap().body().len()
    };
    let text = |more: usize| format!(r#"{{"text":"{}"}}"#, "x".repeat((1 << 20) - around + more));
    let fits = caller.call("test.echo", &text(0)).await.unwrap();
    assert_eq!(fits["text"].as_str().unwrap().len(), (1 << 20) - around);
    // The options begin at a multiple of eight.
    let over = caller.call("test.echo", &text(8)).await.unwrap_err().is("ContentTooLarge");
    assert_eq!(over.details["limit_bytes"], 1 << 20);
    // Small by nature, and many times its size in memory.
    let long = Options::from([("correlation_id", Variant::from(vec![0_u8; 16 * 1024]))]);
    caller.call_with("test.echo", "{}", long).await.unwrap_err().is("ContentTooLarge");
    Failed::of(caller.tools("Describe", &"x".repeat(17 * 1024)).await.unwrap_err()).is("ContentTooLarge");
}

#[tokio::test]
async fn a_connection_has_eight_unfinished_calls_and_the_server_works_on() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    for _ in 0..8 {
        caller.begin("test.stream", "{}").await.unwrap();
    }
    pi.pi.bench.until_inside(8).await;
    let full = caller.call("test.echo", "{}").await.unwrap_err().is("ResourceExhausted");
    assert_eq!(full.details["limit"], 8);
    let other = pi.caller().await;
    assert_eq!(other.call("test.echo", "{}").await.unwrap()["text"], "");
    pi.pi.bench.release.add_permits(8);
    pi.pi.bench.until_inside(0).await;
    // Their places are free once they have ended.
    let mut answer = caller.call("test.echo", "{}").await;
    while let Err(error) = answer {
        error.is("ResourceExhausted");
        answer = caller.call("test.echo", "{}").await;
    }
}

/// Those for whom there is no room at once are told so, and have their answer when they ask again.
#[tokio::test]
async fn a_hundred_callers_at_once_have_each_their_own_answer() {
    let pi = BusPi::start().await;
    let mut callers = Vec::new();
    for _ in 0..100 {
        callers.push(pi.caller().await);
    }
    let asked = callers.iter().enumerate().map(async |(number, caller)| {
        let args = format!(r#"{{"text": "caller {number}"}}"#);
        let mut refusals = 0;
        loop {
            match caller.call("test.echo", &args).await {
                Ok(answer) => {
                    assert_eq!(answer, json!({"text": format!("caller {number}")}));
                    return refusals;
                }
                Err(error) => drop(error.is("ResourceExhausted")),
            }
            refusals += 1;
        }
    });
    let refusals: Vec<u32> = futures::future::join_all(asked).await;
    let at_once = refusals.iter().filter(|refusals| **refusals == 0).count();
    assert!(at_once >= 64, "{at_once} were served at once");
}
