//! What is refused: every bad argument, and every answer of a router that is an error.

use super::{
    Bench, Service, lab,
    reads::{OWNERS, chosen, reads, sample},
};
use crate::{
    contract::{oracle::oracle, probe},
    support::served::soon,
};
use appliance::certificate::Fingerprint;
use base::error::ErrorCode;
use contract::schema::{Checker, advertised::executed};
use raspi_mcp::routeros::{
    Device,
    device::Secret,
    reads::{MenuRead, Shape},
    table::{self, RouterTool, Run},
};
use routeros_simulator::Profile;
use serde_json::{Value, json};

fn input(tool: &RouterTool) -> Value {
    let (advertised, accepts) = tool.input();
    executed(advertised, accepts)
}

#[tokio::test]
async fn every_bad_argument_is_refused_and_no_router_hears_of_it() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let mut refused = 0;
    for tool in table::all() {
        let schema = input(tool);
        let (theirs, ours) = (oracle(&schema), Checker::new(&schema).unwrap());
        for args in probe::probes(&schema).into_iter().filter(Value::is_object) {
            assert_eq!(ours.fits(&args), theirs.is_valid(&args), "{}: {args}", tool.name);
            let mut without_nulls = args.clone();
            ours.without_nulls(&mut without_nulls);
            if theirs.is_valid(&without_nulls) {
                continue;
            }
            let error = soon(service.call(tool.operation(), args.clone())).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{} {args}: {error:?}", tool.name);
            refused += 1;
        }
        let control = tool.arguments().into_iter().find(|arg| matches!(arg.kind, table::ArgKind::Text(..)));
        if let Some(arg) = control {
            let mut args = sample(tool, None);
            args[arg.name] = json!("a\nb");
            let error = soon(service.call(tool.operation(), args)).await.unwrap_err();
            assert_eq!((error.code, &error.details["parameter"]), (ErrorCode::InvalidArgument, &json!(arg.name)));
        }
    }
    println!("{refused} bad calls");
    assert!(refused > 1_000);
    assert_eq!((bench.router.requests(), bench.router.writes()), (0, 0));
}

#[tokio::test]
async fn an_unknown_router_is_named_as_such() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    for tool in table::all().filter(|tool| tool.has("device_id") && !OWNERS.contains(&tool.name)) {
        let mut args = sample(tool, None);
        args["device_id"] = json!("cellar");
        let error = soon(service.call(tool.operation(), args)).await.unwrap_err();
        assert_eq!(
            (error.code, &error.details["mcp_error_code"], &error.details["device_id"]),
            (ErrorCode::NotFound, &json!("INVALID_DEVICE_ID"), &json!("cellar")),
            "{}",
            tool.name
        );
    }
}

/// Reads that ask the router and pass on what it refuses.
fn asking() -> impl Iterator<Item = &'static RouterTool> {
    reads().filter(|tool| tool.has("device_id") && tool.name != "routeros.check_connectivity")
}

async fn all_fail(service: &Service, bench: &Bench, code: ErrorCode, word: &str) {
    for tool in asking() {
        let id = chosen(tool, &bench.router);
        let error = soon(service.call(tool.operation(), sample(tool, id.as_deref()))).await.unwrap_err();
        assert_eq!(
            (error.code, &error.details["mcp_error_code"], &error.details["device_id"]),
            (code, &json!(word), &json!("attic")),
            "{}: {error:?}",
            tool.name
        );
        assert!(error.hint.is_some() && !format!("{error:?}").contains("correct horse"), "{}: {error:?}", tool.name);
    }
    let connectivity = soon(service.call("check_connectivity", json!({ "device_id": "attic" }))).await.unwrap();
    assert_eq!(connectivity["reachable"], false, "{connectivity}");
    assert_eq!(connectivity["suggestions"].as_array().unwrap().len(), 2, "{connectivity}");
    let fleet = soon(service.call("get_fleet_summary", json!({}))).await.unwrap();
    assert_eq!(fleet["health_breakdown"], json!({ "healthy": 0, "degraded": 0, "unreachable": 1 }));
}

#[tokio::test]
async fn every_read_says_why_a_router_does_not_answer() {
    let bench = Bench::new(Profile::V7_16).await;
    let wrong = Device { password: Secret::new("wrong"), ..bench.device() };
    all_fail(&Service::new([(wrong, lab())]), &bench, ErrorCode::FailedPrecondition, "DEVICE_AUTH_FAILED").await;
    let other = super::device(&bench.listener, Fingerprint::of(b"another certificate"));
    let (seen, service) = (bench.listener.credentials_seen(), Service::new([(other, lab())]));
    all_fail(&service, &bench, ErrorCode::VerificationFailed, "DEVICE_UNREACHABLE").await;
    assert_eq!(bench.listener.credentials_seen(), seen, "no byte of a credential");
    let gone = Bench::new(Profile::V7_16).await;
    let device = gone.device();
    drop(gone);
    all_fail(&Service::new([(device, lab())]), &bench, ErrorCode::Unavailable, "DEVICE_UNREACHABLE").await;
}

#[tokio::test]
async fn what_a_router_does_not_have_is_not_found() {
    let bench = Bench::new(Profile::V7_12).await;
    let service = bench.service();
    for tool in reads().filter(|tool| matches!(tool.run, Run::Menu(MenuRead { shape: Shape::One { .. }, .. }))) {
        for id in ["*FFF", "no such name", "../ip/address"] {
            let error = soon(service.call(tool.operation(), sample(tool, Some(id)))).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound, "{} {id}: {error:?}", tool.name);
        }
    }
}

#[tokio::test]
async fn a_user_without_a_right_is_told_which_way_to_go() {
    let bench = Bench::new(Profile::V7_21).await;
    let reader = Device { user: "reader".into(), ..bench.device() };
    let service = Service::new([(reader, lab())]);
    let error = soon(service.call("get_config_snapshot", json!({ "device_id": "attic" }))).await.unwrap_err();
    assert_eq!(
        (error.code, &error.details["mcp_error_code"]),
        (ErrorCode::PermissionDenied, &json!("FORBIDDEN")),
        "{error:?}"
    );
    soon(service.call("get_system_overview", json!({ "device_id": "attic" }))).await.unwrap();
}

#[tokio::test]
async fn routers_are_added_and_changed_by_their_owner() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let added = json!({
        "name": "router-lab-04", "management_address": "192.168.1.4:443", "environment": "lab",
        "credentials": { "username": "admin", "password": "correct horse" },
    });
    let changed = json!({
        "device_id": "attic", "tags": { "site": "main", "role": "edge" }, "allow_advanced_writes": true,
    });
    for (tool, args, says) in
        [("register_device", added, "raspi-mcp routeros add"), ("update_device", changed, "[[routeros]]")]
    {
        let error = soon(service.call(tool, args)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::FailedPrecondition, "{error:?}");
        assert!(error.hint.as_ref().unwrap().contains(says) && !format!("{error:?}").contains("horse"), "{error:?}");
    }
}
