//! Each tool through the whole pipeline: roles, policy, schemas, audit.

use super::{
    callers,
    port::{MemoryFleet, hash},
};
use crate::support::served::Pi;
use contract::meta::Role;
use raspi_mcp::{
    fleet_port::{HaltTarget, ServedFleet, callers::FleetCallers},
    tools::{fleet, tools},
};
use serde_json::json;
use std::sync::Arc;

async fn console(role: Role) -> (Pi, Arc<MemoryFleet>) {
    let pi = Pi::offering(&[fleet::TOOLS, tools::TOOLS], |settings| {
        settings.access.stdio_role = role;
        settings.tools.enable.insert("fleet".into());
    })
    .await;
    let (memory, folder) = (Arc::new(MemoryFleet::default()), callers::folder());
    let served = ServedFleet { port: memory.clone(), callers: FleetCallers::read(folder.path()).unwrap() };
    assert!(pi.server().pipeline.services.fleet.set(served).is_ok());
    // Its files are read at each call.
    let _ = folder.keep();
    (pi, memory)
}

#[tokio::test]
async fn a_reader_sees_the_fleet_and_changes_nothing() {
    let (pi, memory) = console(Role::ReadOnly).await;
    let summary = pi.call("fleet.get_summary", json!({})).await;
    let summary = summary.ok();
    assert_eq!(summary["health_breakdown"], json!({"good": 2, "wrong": 1, "unknown": 0, "silent": 1}));
    assert_eq!(summary["versions"], json!({"1.0.0": 1, "1.1.0": 2}));
    assert_eq!(
        (&summary["total_devices"], &summary["halted"], &summary["open_asks"]),
        (&json!(4), &json!(1), &json!(3))
    );
    assert_eq!(summary["attention"][0]["name"], "cellar");
    for (filter, names) in [
        (json!({}), vec!["attic", "cellar", "kitchen", "shed"]),
        (json!({"version": "1.1.0"}), vec!["kitchen", "shed"]),
        (json!({"health": "good", "tag": "home"}), vec!["attic", "kitchen"]),
        (json!({"silent": true}), vec!["cellar"]),
        (json!({"silent": false, "tag": "home", "limit": 1, "offset": 1}), vec!["kitchen"]),
        (json!({"tag": "nowhere"}), vec![]),
    ] {
        let page = pi.call("fleet.list_devices", filter.clone()).await;
        let devices = page.ok()["devices"].as_array().unwrap();
        assert_eq!(
            devices.iter().map(|device| device["name"].as_str().unwrap()).collect::<Vec<_>>(),
            names,
            "{filter}"
        );
    }
    for (tool, args) in [
        ("fleet.call", json!({"device": "kitchen", "tool": "system.get_clock"})),
        ("fleet.plan_rollout", json!({"plan": "spring"})),
        ("fleet.apply_rollout", json!({"plan_hash": hash()})),
        ("fleet.halt", json!({"all": true, "reason": "smoke"})),
    ] {
        pi.call(tool, args).await.failed("permission_denied");
    }
    assert!(memory.calls.lock().unwrap().is_empty() && memory.halts.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_call_has_the_callers_token_and_the_devices_own_refusal() {
    let (pi, memory) = console(Role::OpsRw).await;
    let args = json!({"device": "kitchen", "tool": "system.get_clock", "arguments": "{\"a\": 1}"});
    let answer = pi.call("fleet.call", args).await;
    assert_eq!(answer.ok(), &json!({"device": "kitchen", "tool": "system.get_clock", "result": {"a": 1}}));
    assert_eq!((&answer.meta()["simulated"], &answer.meta()["changed"]), (&json!(true), &json!(false)));
    assert_eq!(*memory.calls.lock().unwrap(), [["kitchen", "system.get_clock", "secret-of-ann"].map(str::to_owned)]);
    let refused = pi.call("fleet.call", json!({"device": "kitchen", "tool": "gpio.write_pin"})).await;
    let refused = refused.failed("permission_denied");
    assert_eq!(refused["message"], "kitchen: a person has to approve it");
    assert_eq!((&refused["details"]["device"], &refused["details"]["ask_id"]), (&json!("kitchen"), &json!("q1")));
    let missing = pi.call("fleet.call", json!({"device": "shed", "tool": "system.get_clock"})).await;
    assert!(missing.failed("permission_denied")["message"].as_str().unwrap().contains("tokens/ann/shed"));
    assert_eq!(memory.calls.lock().unwrap().len(), 2, "no token, no call");
}

#[tokio::test]
async fn an_administrator_plans_applies_and_halts() {
    let (pi, memory) = console(Role::Admin).await;
    assert_eq!(pi.call("fleet.plan_rollout", json!({"plan": "spring"})).await.ok()["plan_hash"], hash());
    for plan in ["../spring", "/etc/passwd", "a b"] {
        pi.call("fleet.plan_rollout", json!({"plan": plan})).await.failed("invalid_argument");
    }
    pi.call("fleet.apply_rollout", json!({"plan_hash": "0".repeat(64)})).await.failed("not_found");
    for changed in [true, false] {
        let started = pi.call("fleet.apply_rollout", json!({"plan_hash": hash()})).await;
        assert_eq!((&started.ok()["already"], &started.meta()["changed"]), (&json!(!changed), &json!(changed)));
    }
    for args in [
        json!({"reason": "smoke"}),
        json!({"all": true, "devices": ["shed"], "reason": "smoke"}),
        json!({"all": true}),
        json!({"all": true, "reason": "two\nlines"}),
    ] {
        pi.call("fleet.halt", args).await.failed("invalid_argument");
    }
    pi.call("fleet.halt", json!({"devices": ["shed", "garage"], "reason": "smoke"})).await.failed("not_found");
    assert!(memory.halts.lock().unwrap().is_empty());
    let halted = pi.call("fleet.halt", json!({"devices": ["shed"], "reason": "smoke"})).await;
    assert_eq!(halted.ok(), &json!({"confirmed": ["shed"], "open": ["cellar"]}));
    let named = HaltTarget::Named(["shed".to_owned()].into());
    assert_eq!(*memory.halts.lock().unwrap(), [(named, "smoke".to_owned())]);
}
