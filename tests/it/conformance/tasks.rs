//! Calls that become tasks (2026-07-28, tasks extension).

use crate::support::served::{Door, Pi, Wire, modern_meta, soon};
use serde_json::{Value, json};

const DOORS: [Door; 4] = [Door::Stdio, Door::Unix, Door::Http, Door::Ws];

async fn start(wire: &mut Wire, tool: &str, args: Value) -> String {
    let answer = wire.task_request("tools/call", json!({"name": tool, "arguments": args})).await;
    let result = answer.under(200).result();
    assert_eq!(result["resultType"], "task", "{result}");
    result["taskId"].as_str().unwrap_or_else(|| panic!("no task: {result}")).to_owned()
}

/// Polls, as clients do, until the task has this status.
async fn until(wire: &mut Wire, task: &str, status: &str) -> Value {
    soon(async {
        loop {
            let answer = wire.task_request("tasks/get", json!({"taskId": task})).await;
            if answer.result()["status"] == status {
                return answer.result().clone();
            }
            assert_eq!(answer.result()["status"], "working", "{answer:?}");
        }
    })
    .await
}

#[tokio::test]
async fn a_task_goes_on_after_the_answer_and_keeps_its_result() {
    let pi = Pi::with_fixtures().await;
    for door in DOORS {
        let mut wire = pi.on(door).await;
        let task = start(&mut wire, "slow_compute", json!({"seconds": 0.05, "label": "x"})).await;
        let done = until(&mut wire, &task, "completed").await;
        assert_eq!(done["result"]["content"][0]["text"], "slow_compute(x) done after 0.05s", "{door:?}: {done}");
    }
}

#[tokio::test]
async fn a_task_asks_and_goes_on() {
    let pi = Pi::with_fixtures().await;
    let mut wire = pi.on(Door::Ws).await;
    let task = start(&mut wire, "confirm_delete", json!({"filename": "a.txt"})).await;
    let asks = until(&mut wire, &task, "input_required").await;
    assert_eq!(asks["inputRequests"]["confirm"]["params"]["message"], "Delete a.txt?");
    let responses = json!({"confirm": {"action": "accept", "content": {"confirm": true}}});
    wire.task_request("tasks/update", json!({"taskId": task, "inputResponses": responses})).await.result();
    let done = until(&mut wire, &task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "confirm_delete(a.txt): confirmed = true");
}

#[tokio::test]
async fn a_task_can_be_cancelled_and_can_fail() {
    let pi = Pi::with_fixtures().await;
    let mut wire = pi.on(Door::Http).await;
    let slow = start(&mut wire, "slow_compute", json!({"seconds": 3600})).await;
    wire.task_request("tasks/cancel", json!({"taskId": slow})).await.result();
    until(&mut wire, &slow, "cancelled").await;
    let failing = start(&mut wire, "protocol_error_job", json!({})).await;
    assert_eq!(until(&mut wire, &failing, "failed").await["error"]["code"], -32603);
    wire.task_request("tasks/get", json!({"taskId": "no such task"})).await.fault(-32602);
}

#[tokio::test]
async fn a_client_without_tasks_gets_none() {
    let pi = Pi::with_fixtures().await;
    let mut wire = pi.on(Door::Http).await;
    for (tool, args) in [("failing_job", json!({})), ("slow_compute", json!({"seconds": 0}))] {
        wire.modern("tools/call", Some(tool));
        let answer = wire.request("tools/call", modern_meta(json!({"name": tool, "arguments": args}))).await;
        match tool {
            "slow_compute" => assert_eq!(answer.result()["resultType"], "complete"),
            _ => {
                let required = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
                assert_eq!(answer.under(400).fault(-32021)["data"]["requiredCapabilities"], required);
            }
        }
    }
}
