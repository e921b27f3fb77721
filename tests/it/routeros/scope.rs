//! Which routers a call may be about: those of its credential, and those that their owner opened for its tier.

use super::{Bench, Service, call, lab};
use crate::support::served::soon;
use base::error::ErrorCode;
use contract::meta::Environment;
use raspi_mcp::routeros::{
    Device,
    routers::{Routers, Standing},
    service::RouterService,
};
use routeros_simulator::Profile;
use serde_json::{Value, json};
use std::sync::Arc;

async fn two() -> (Bench, Service) {
    let bench = Bench::new(Profile::V7_21).await;
    let cellar = Device { id: "cellar".into(), ..bench.device() };
    let closed = Standing {
        environment: Environment::Prod,
        tags: [("site".to_owned(), "other".to_owned())].into(),
        allow_advanced: false,
        allow_professional: false,
    };
    let service = Service::new([(bench.device(), lab()), (cellar, closed)]);
    (bench, service)
}

fn ids(listed: &Value, list: &str, id: &str) -> Vec<String> {
    listed[list].as_array().unwrap().iter().map(|device| device[id].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn lists_are_narrowed_by_environment_and_tags_in_both_forms() {
    let (_bench, service) = two().await;
    for (filter, expected) in [
        (json!({}), vec!["attic", "cellar"]),
        (json!({ "environment": "lab" }), vec!["attic"]),
        (json!({ "environment": "staging" }), vec![]),
        (json!({ "tags": ["site=other"] }), vec!["cellar"]),
        (json!({ "tags": { "site": "main" } }), vec!["attic"]),
        (json!({ "tags": { "site": "main", "role": "edge" } }), vec![]),
        (json!({ "limit": 1, "offset": 1 }), vec!["cellar"]),
    ] {
        let listed = soon(service.call("list_devices", filter.clone())).await.unwrap();
        assert_eq!(ids(&listed, "devices", "id"), expected, "{filter}");
    }
    let listed = soon(service.call("list_devices", json!({}))).await.unwrap();
    assert_eq!(listed["devices"][0]["status"], "unknown", "it was not asked yet");
    let fleet = soon(service.call("get_fleet_summary", json!({}))).await.unwrap();
    assert_eq!(fleet["health_breakdown"], json!({ "healthy": 2, "degraded": 0, "unreachable": 0 }));
    assert_eq!(fleet["routeros_versions"], json!({ "7.21.4 (stable)": 2 }));
    let listed = soon(service.call("list_devices", json!({}))).await.unwrap();
    let device = &listed["devices"][0];
    assert_eq!((&device["status"], &device["routeros_version"]), (&json!("healthy"), &json!("7.21.4 (stable)")));
}

#[tokio::test]
async fn a_credential_reaches_its_own_routers_only() {
    let (bench, service) = two().await;
    let scoped = |tool: &str, args: Value| {
        let mut call = call(tool, args);
        call.device_scope = Some(vec!["cellar".into()]);
        service.service.call(call)
    };
    soon(scoped("get_system_clock", json!({ "device_id": "cellar" }))).await.unwrap();
    let heard = bench.router.requests();
    for tool in ["get_system_clock", "check_connectivity", "list_interfaces", "get_health_data"] {
        let error = soon(scoped(tool, json!({ "device_id": "attic" }))).await.unwrap_err();
        assert_eq!(
            (error.code, &error.details["mcp_error_code"]),
            (ErrorCode::PermissionDenied, &json!("FORBIDDEN")),
            "{tool}"
        );
    }
    assert_eq!(bench.router.requests(), heard);
    assert_eq!(ids(&soon(scoped("list_devices", json!({}))).await.unwrap(), "devices", "id"), ["cellar"]);
    let fleet = soon(scoped("get_fleet_summary", json!({}))).await.unwrap();
    assert_eq!(ids(&fleet, "devices_summary", "device_id"), ["cellar"]);
}

#[tokio::test]
async fn what_its_owner_did_not_open_stays_closed() {
    let (bench, service) = two().await;
    let test = |id: &str| json!({ "device_id": id, "address": "198.51.100.1", "duration_seconds": 1 });
    let error = soon(service.call("bandwidth_test", test("cellar"))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::FailedPrecondition, "{error:?}");
    assert!(error.hint.as_ref().unwrap().contains("allow_advanced"), "{error:?}");
    assert_eq!((bench.router.requests(), service.judge.asked.lock().unwrap().len()), (0, 0));
    soon(service.call("bandwidth_test", test("attic"))).await.unwrap();
}

#[tokio::test]
async fn a_server_of_a_lab_changes_no_router_of_production() {
    let bench = Bench::new(Profile::V7_21).await;
    for (own, theirs, is_let) in [
        (Environment::Prod, Environment::Lab, true),
        (Environment::Lab, Environment::Lab, true),
        (Environment::Lab, Environment::Staging, false),
        (Environment::Staging, Environment::Prod, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let routers = Routers::new([(bench.device(), Standing { environment: theirs, ..lab() })]).unwrap();
        let mut service = RouterService::new(routers, folder.path().into(), Arc::new(super::Judge::default()));
        service.environment = own;
        let args = json!({ "device_id": "attic", "address": "198.51.100.1", "duration_seconds": 1 });
        let measured = soon(service.call(call("bandwidth_test", args))).await;
        assert_eq!(measured.is_ok(), is_let, "{own:?} {theirs:?}: {measured:?}");
        soon(service.call(call("get_system_clock", json!({ "device_id": "attic" })))).await.unwrap();
    }
}
