//! Every tool during a halt.

use super::{halt, is_halt, known, lift, of};
use crate::{
    contract::tools::arguments,
    support::{
        served::{Door, Pi},
        settings::allow_everything,
    },
};
use contract::{
    access::caller::{Caller, Transport},
    halt::stops,
    meta::{Effect, Mode, Role},
};
use raspi_mcp::registry::Registry;
use serde_json::json;

/// The writes that a halt never stops. A new one is added here on purpose, with the reason in docs/halt.md.
const RUN: [&str; 10] = [
    "agents.shutdown",
    "gpio.release_pin",
    "manage.apply_os_updates",
    "manage.halt",
    "manage.mark_good",
    "manage.rollback",
    "manage.update_server",
    "network.confirm_connection",
    "serial.close",
    // Only carries another call, which is judged.
    "tools.run",
];

#[test]
fn exactly_these_writes_run_during_a_halt_and_the_document_names_them() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let writes = registry.rows().filter(|entry| entry.meta.effect != Effect::Read);
    let mut run: Vec<&str> = writes.filter(|entry| !stops(entry.meta)).map(|entry| entry.name()).collect();
    run.sort_unstable();
    assert_eq!(run, RUN);
    let document = include_str!("../../../docs/halt.md");
    for tool in RUN.iter().filter(|tool| **tool != "tools.run") {
        assert!(document.contains(&format!("`{tool}`")), "docs/halt.md does not name {tool}");
    }
    for entry in registry.rows().filter(|entry| entry.meta.effect == Effect::Read) {
        assert!(!stops(entry.meta), "{} only reads", entry.name());
        // The agent knows names alone.
        assert!(!contract::halt::stops_named(entry.name()), "{}", entry.name());
    }
}

#[tokio::test]
async fn every_write_is_refused_but_those_and_no_read_is() {
    let pi = Pi::standard(allow_everything).await;
    halt(&of(&pi)).await;
    known(&pi, true).await;
    let mut wire = pi.on(Door::Stdio).await;
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    // An update would restart the machine, and wants a channel; whether it may is in the table above, and the agent's part in
    // agent/halt.
    for entry in registry.rows().filter(|entry| entry.name() != "manage.apply_os_updates") {
        let answer = wire.call(entry.name(), arguments(entry)).await;
        let refused = answer.result()["isError"] == true && is_halt(answer.error());
        assert_eq!(refused, stops(entry.meta), "{}: {answer:#?}", entry.name());
    }
    let answer = wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await;
    let error = answer.failed("failed_precondition");
    assert_eq!(
        (&error["details"]["how"], &error["details"]["reason"]),
        (&json!("raspi-mcp halt"), &json!("the pump leaks"))
    );
    assert!(error["hint"].as_str().unwrap().contains("raspi-mcp halt --lift"), "{error}");
    // Through tools.run it is the same call.
    let carried = json!({"name": "gpio.write_pin", "arguments": "{\"pin\": 17, \"value\": \"high\"}"});
    assert!(is_halt(wire.call("tools.run", carried).await.error()));
    // Arguments that no schema allows are still named first.
    wire.call("gpio.write_pin", json!({"pin": 99, "value": "high"})).await.refused("/pin");
    pi.audited(|record| record["tool"] == "gpio.write_pin" && record["outcome"] == "failed_precondition").await;
    lift(&of(&pi)).await;
    known(&pi, false).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
}

#[tokio::test]
async fn an_admin_halts_with_a_tool_and_the_next_change_is_refused() {
    let pi = Pi::standard(allow_everything).await;
    let mut operator = pi.stdio(Caller::new("operator", Role::OpsRw, Transport::Stdio));
    operator.call("manage.halt", json!({})).await.failed("permission_denied");
    let mut wire = pi.on(Door::Stdio).await;
    wire.call("manage.halt", json!({"reason": "two\nlines"})).await.refused("/reason");
    let done = wire.call("manage.halt", json!({"reason": "the pump leaks"})).await;
    assert_eq!((&done.ok()["already"], &done.meta()["changed"]), (&json!(false), &json!(true)));
    assert_eq!(done.ok()["halted"]["how"], "manage.halt");
    assert!(is_halt(operator.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.error()));
    let again = wire.call("manage.halt", json!({"reason": "once more"})).await;
    assert_eq!((&again.ok()["already"], &again.ok()["halted"]), (&json!(true), &done.ok()["halted"]));
    for (tool, whole) in [("manage.get_server_status", true), ("system.get_health_snapshot", true)] {
        let told = wire.call(tool, json!({})).await.ok()["halted"].clone();
        assert_eq!((told == done.ok()["halted"], &told["reason"]), (whole, &json!("the pump leaks")), "{tool}");
    }
    // One record of its call, and none beside it.
    let records = pi.audit().await;
    assert!(records.iter().any(|record| record["tool"] == "manage.halt" && record["outcome"] == "ok"));
    assert!(records.iter().all(|record| record["tool"] != "halt.set"), "{records:#?}");
    lift(&of(&pi)).await;
    pi.audited(|record| record["tool"] == "halt.lift" && record["args"]["how"] == "raspi-mcp halt --lift").await;
    let status = wire.call("manage.get_server_status", json!({})).await;
    assert!(status.ok().get("halted").is_none(), "{:#}", status.ok());
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_is_denied_when_the_machine_is_halted() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.policy.insert("gpio.write_pin".into(), Mode::Ask);
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "gpio.write_pin", "arguments": {"pin": 17, "value": "high"}}));
    let agent = of(&pi);
    while agent.get::<agent::operations::asks::ListAsks>().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    halt(&agent).await;
    let answer = wire.answer_to(id).await;
    assert!(answer.is_refusal("permission_denied"), "{answer:#?}");
    pi.audited(|record| record["tool"] == "halt.set" && record["args"]["reason"] == "the pump leaks").await;
}
