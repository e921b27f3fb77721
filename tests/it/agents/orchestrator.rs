//! `agents.*`: ids, tasks, and dbus-mcp's own types.

use super::*;

#[tokio::test]
async fn the_types_of_dbus_mcp_are_views_of_our_tools() {
    let machine = Machine::with(
        |_| Vec::new(),
        |settings| {
            settings.tools.enable.insert("agents".into());
        },
    )
    .await;
    let mut wire = machine.pi.on(Door::Stdio).await;
    let names = listed(&mut wire).await;
    assert!(!names.iter().any(|name| name.starts_with("agents.")), "nothing is listed: {names:?}");
    let id = wire.call("agents.spawn", json!({"type": "process"})).await.ok()["agent_id"].clone();
    let task = |kind: &str, params: Value| json!({"agent_id": id, "id": "t1", "type": kind, "params": params});
    let done = wire.call("agents.send_task", task("list_processes", json!({"limit": 1}))).await;
    assert_eq!((&done.ok()["status"], &done.ok()["id"]), (&json!("success"), &json!("t1")));
    assert!(done.ok()["output"]["processes"].is_array(), "{:#}", done.ok());
    let command = wire
        .call("agents.send_task", task("command", json!({"command": "list_processes", "args": {"limit": 1}})))
        .await;
    assert!(command.ok()["output"]["processes"].is_array());
    // What the tool refuses is refused: role, policy and schema are the tool's.
    wire.call("agents.send_task", task("list_processes", json!({"limit": -1}))).await.refused("/limit");
    let denied = wire.call("agents.send_task", task("send_signal", json!({"pid": 4242}))).await;
    denied.failed("permission_denied");
    let unknown = wire.call("agents.send_task", task("fly", json!({}))).await;
    assert_eq!(unknown.failed("not_found")["details"]["dbus_mcp_code"], -32101);
    assert!(machine.runner.plans.lock().unwrap().is_empty(), "no process was started");
    machine.pi.audited(|record| record["tool"] == "process.list_processes" && record["request_id"] == "t1").await;

    let none = wire.call("agents.send_task", json!({"agent_id": "process_99", "type": "list_processes"})).await;
    assert_eq!(none.failed("not_found")["details"]["dbus_mcp_code"], -32101);
    let unknown = wire.call("agents.spawn", json!({"type": "teleporter"})).await;
    assert_eq!(unknown.failed("not_found")["details"]["dbus_mcp_code"], -32100);
    assert_eq!(wire.call("agents.list", json!({})).await.ok()["agents"][0]["agent_id"], id);
    assert_eq!(wire.call("agents.shutdown", json!({"agent_id": id})).await.ok()["ended"], true);
    assert_eq!(wire.call("agents.shutdown", json!({"agent_id": id})).await.ok()["ended"], false);
}

#[tokio::test]
async fn an_id_is_its_callers_alone() {
    use contract::{
        access::caller::{Caller, Transport},
        meta::Role,
    };
    let machine = Machine::new(|_| Vec::new()).await;
    let agents = &machine.pi.server().pipeline.services.agents;
    let (ann, bob) =
        (Caller::new("uid:1", Role::OpsRw, Transport::Unix), Caller::new("uid:2", Role::OpsRw, Transport::Unix));
    let id = agents.spawn(&ann, "systemd").await.unwrap().agent_id;
    assert!(agents.get(&bob, &id).is_err() && agents.list(&bob).is_empty() && !agents.shutdown(&bob, &id));
    assert!(agents.get(&ann, &id).is_ok());
    for _ in 1..64 {
        agents.spawn(&ann, "systemd").await.unwrap();
    }
    let full = agents.spawn(&ann, "systemd").await.unwrap_err();
    assert_eq!(full.details["dbus_mcp_code"], -32100);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_told_with_dbus_mcps_code() {
    let machine = Machine::new(|folder| {
        let tools = json!({"a": {"tier": "fundamental"}});
        vec![json!({"type": "thing", "kind": "mcp", "program": folder.program("x", "#!/bin/sh\nexit 1\n"), "tools": tools})]
    })
    .await;
    let agents = &machine.pi.server().pipeline.services.agents;
    let caller = contract::access::caller::Caller::new(
        "stdio",
        contract::meta::Role::Admin,
        contract::access::caller::Transport::Stdio,
    );
    let error = soon(agents.spawn(&caller, "thing")).await.unwrap_err();
    assert!(error.details["dbus_mcp_code"] == -32100 || error.details["dbus_mcp_code"] == -32104, "{error:?}");
    let link: AcceptRequest = AcceptRequest { agent: "nobody".into(), tools: None };
    machine.root.call::<AcceptAgent>(link).await.unwrap_err();
    let now = machine.root.call::<FollowAgents>(FollowRequest::default()).await.unwrap();
    assert_eq!(now.agents[0].tools[0].state, ::agent::ToolState::Unknown);
}
