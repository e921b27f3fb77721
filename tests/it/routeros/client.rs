//! The client: pins, limits, and what becomes of a request that breaks.

use super::{Bench, device, pinned};
use crate::support::served::soon;
use appliance::certificate::Fingerprint;
use base::error::ErrorCode;
use raspi_mcp::routeros::{RouterClient, device::Secret};
use reqwest::Method;
use routeros_simulator::{Fault, Profile};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

fn body(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn a_wrong_pin_gets_no_byte_of_a_credential() {
    let bench = Bench::new(Profile::V7_21).await;
    let wrong = RouterClient::new(device(&bench.listener, Fingerprint::of(b"another certificate"))).unwrap();
    let error = soon(wrong.get("system/identity")).await.unwrap_err();
    assert_eq!(
        (error.code, &error.details["reason"]),
        (ErrorCode::VerificationFailed, &json!("certificate")),
        "{error:?}"
    );
    assert_eq!(bench.listener.credentials_seen(), 0);
    soon(bench.client.get("system/identity")).await.unwrap();
    assert_eq!(bench.listener.credentials_seen(), 1);
}

#[tokio::test]
async fn refusals_have_a_code_a_word_and_a_next_step() {
    let bench = Bench::new(Profile::V7_12).await;
    let stranger =
        RouterClient::new(raspi_mcp::routeros::Device { password: Secret::new("wrong"), ..pinned(&bench.listener) });
    let denied = soon(stranger.unwrap().get("system/identity")).await.unwrap_err();
    let missing = soon(bench.client.get("interface/wifi")).await.unwrap_err();
    let absent = soon(bench.client.get("ip/address/*FFF")).await.unwrap_err();
    let needless = soon(bench.client.write(Method::PUT, "user", &body(json!({ "name": "x", "group": "full" }))))
        .await
        .unwrap_err();
    let refused = soon(bench.client.write(
        Method::PUT,
        "ip/address",
        &body(json!({ "address": "192.0.2.1/24", "interface": "x" })),
    ))
    .await
    .unwrap_err();
    for (error, code, word) in [
        (denied, ErrorCode::FailedPrecondition, "DEVICE_AUTH_FAILED"),
        (missing, ErrorCode::CapabilityMissing, "DEVICE_UNSUPPORTED"),
        (absent, ErrorCode::NotFound, "DEVICE_ERROR"),
        (needless, ErrorCode::PermissionDenied, "FORBIDDEN"),
        (refused, ErrorCode::FailedPrecondition, "DEVICE_ERROR"),
    ] {
        assert_eq!(
            (error.code, &error.details["mcp_error_code"], &error.details["device_id"]),
            (code, &json!(word), &json!("attic")),
            "{error:?}"
        );
        assert!(error.hint.is_some() && !format!("{error:?}").contains("correct horse"), "{error:?}");
    }
    assert_eq!(bench.router.writes(), 0);
}

#[tokio::test]
async fn a_read_is_repeated_when_the_connection_broke_and_a_write_never() {
    let bench = Bench::new(Profile::V7_21).await;
    soon(bench.client.get("system/identity")).await.unwrap();
    bench.router.fault(Fault::CutBefore(1));
    soon(bench.client.get("system/identity")).await.unwrap();
    bench.router.fault(Fault::CutAfterWrite);
    let cut = soon(bench.client.write(Method::POST, "system/identity/set", &body(json!({ "name": "attic" }))))
        .await
        .unwrap_err();
    assert_eq!((cut.code, &cut.details["changed"]), (ErrorCode::Unavailable, &json!("unknown")), "{cut:?}");
    assert_eq!(bench.router.writes(), 1);
    let refused =
        soon(bench.client.write(Method::PATCH, "system/identity", &body(json!({ "name": "x" })))).await.unwrap_err();
    assert_eq!(refused.details.get("changed"), None, "{refused:?}");
}

#[tokio::test]
async fn three_requests_run_at_once() {
    let bench = Bench::new(Profile::V7_21).await;
    soon(bench.client.get("system/identity")).await.unwrap();
    bench.router.fault(Fault::Slow(Duration::from_millis(200)));
    let start = Instant::now();
    let six = (0..6).map(|_| bench.client.get("system/identity"));
    assert!(soon(futures::future::join_all(six)).await.iter().all(Result::is_ok));
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
}

#[tokio::test]
async fn nobody_there_is_told_as_such() {
    let bench = Bench::new(Profile::V7_21).await;
    let gone = pinned(&bench.listener);
    drop(bench);
    let error = soon(RouterClient::new(gone).unwrap().get("system/identity")).await.unwrap_err();
    assert_eq!(
        (error.code, &error.details["reason"]),
        (ErrorCode::Unavailable, &json!("connection_refused")),
        "{error:?}"
    );
}
