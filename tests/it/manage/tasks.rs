//! An update as a task (2026-07-28, tasks extension): it goes on after the answer, and its cancellation ends it.

use super::web::{Web, admin, until};
use crate::support::served::{Door, modern_meta};
use serde_json::json;

#[tokio::test]
async fn an_update_is_a_task_for_clients_that_have_them() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "x");
    let pi = web.pi(|_| {}).await;
    let mut wire = pi.on(Door::Unix).await;
    let begun = wire.task_request("tools/call", json!({"name": "manage.update_server", "arguments": {}})).await;
    assert_eq!(begun.result()["resultType"], "task", "{begun:?}");
    let task = begun.result()["taskId"].as_str().unwrap().to_owned();
    let done = loop {
        let answer = wire.task_request("tasks/get", json!({"taskId": task})).await;
        if answer.result()["status"] != "working" {
            break answer.result().clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["structuredContent"]["new_version"], "1.1.0");
    // The machine's part of it goes on, and is told by the status.
    until(&mut admin(&pi).await, "committed", |status| status["phase"] == "committed").await;
}

#[tokio::test]
async fn whoever_has_no_tasks_gets_the_answer_itself() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "x");
    let pi = web.pi(|_| {}).await;
    let mut wire = pi.on(Door::Unix).await;
    wire.modern("tools/call", Some("manage.update_server"));
    let params = modern_meta(json!({"name": "manage.update_server", "arguments": {}}));
    let answer = wire.request("tools/call", params).await;
    assert_eq!(answer.result()["structuredContent"]["new_version"], "1.1.0", "{answer:?}");
}
