//! News of an ask: once, with the tool and the id, and nothing of what is asked.

use super::receiver::{Receiver, told};
use crate::support::served::{Door, Pi};
use contract::{
    access::caller::Caller,
    meta::{Mode, Role},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

const SECRET: &str = "hunter2-do-not-tell";

/// A server that asks before it sets the host name, and tells `receiver`.
async fn asking(receiver: &Receiver, more: Value) -> Pi {
    Pi::standard(|settings| {
        settings.tools.enable.insert("system".into());
        settings.policy.insert("system.set_hostname".into(), Mode::Ask);
        settings.approval.wait_seconds = 0;
        settings.notifications.page = "https://pi.local:8444/".into();
        told(settings, receiver, more);
    })
    .await
}

#[tokio::test]
async fn an_ask_is_told_once_without_its_arguments_or_a_means_to_approve() {
    let receiver = Receiver::new().await;
    let pi = asking(&receiver, json!({"events": ["ask_opened"]})).await;
    let args = json!({"hostname": SECRET});
    let first = pi.call("system.set_hostname", args.clone()).await.failed("failed_precondition").clone();
    let id = first["details"]["ask_id"].as_str().unwrap().to_owned();
    // The same call again finds the same ask; another one is another.
    assert_eq!(pi.call("system.set_hostname", args).await.failed("failed_precondition")["details"]["ask_id"], id);
    let other =
        pi.call("system.set_hostname", json!({"hostname": "second"})).await.failed("failed_precondition").clone();
    let requests = receiver.requests(2).await;
    assert_eq!(requests.len(), 2, "{requests:#?}");
    let body = requests[0].json();
    assert_eq!(
        (&body["event"], &body["data"]["tool"], &body["data"]["ask_id"], &body["page"]),
        (&json!("ask_opened"), &json!("system.set_hostname"), &json!(id), &json!("https://pi.local:8444/"))
    );
    assert_eq!(requests[1].json()["data"]["ask_id"], other["details"]["ask_id"]);
    let fields: Vec<&String> = body["data"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["tool", "ask_id", "expires_at"]);
    for request in &requests {
        let all = format!("{}\n{}", request.head, request.body);
        assert!(!all.contains(SECRET) && !all.contains("args") && !all.contains("stdio"), "{all}");
    }
    let status = pi.call("manage.get_server_status", json!({})).await.ok().clone();
    assert_eq!(
        (&status["notifications"][0]["name"], &status["notifications"][0]["dropped"]),
        (&json!("phone"), &json!(0))
    );
    assert!(!status.to_string().contains("/topic"), "the address may be a secret: {status:#}");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn who_did_not_ask_for_asks_is_not_told_of_them() {
    let receiver = Receiver::new().await;
    let pi = asking(&receiver, json!({"events": ["update_failed"]})).await;
    pi.call("system.set_hostname", json!({"hostname": "a"})).await.failed("failed_precondition");
    let status = pi.call("manage.get_server_status", json!({})).await.ok().clone();
    assert_eq!(status["notifications"][0]["waiting"], 0);
    assert!(receiver.so_far().is_empty());
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn without_a_webhook_there_is_no_task_and_no_word_of_it() {
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let pi = Pi::standard(|_| {}).await;
    let server = pi.server();
    let services = &server.pipeline.services;
    let sources = || raspi_mcp::notifications::NewsSources {
        sampling: services.sampling.clone(),
        updates: services.updates.clone(),
        agent: services.agent.clone(),
        halt: services.halt.changes(),
    };
    let before = tasks();
    services.notifications.begin(sources(), &server.stop);
    assert_eq!(tasks(), before);
    services.notifications.ask_opened("a.b", "ABC123", i64::MAX, &Caller::anonymous(Role::ReadOnly));
    assert!(services.notifications.reports().is_empty());
    let mut wire = pi.on(Door::Stdio).await;
    let status = wire.call("manage.get_server_status", json!({})).await.ok().clone();
    assert!(status.get("notifications").is_none(), "{status:#}");
    // The other way round: one webhook is one task that sends, and three that listen.
    let receiver = Receiver::new().await;
    let mut settings = (*services.settings).clone();
    told(&mut settings, &receiver, json!({}));
    let (root, wall) = (services.machine.root.clone(), base::clock::Wall::system());
    let news = raspi_mcp::notifications::Notifications::of(&settings, &root, wall);
    let before = tasks();
    news.begin(sources(), &server.stop);
    assert_eq!(tasks(), before + 4);
    pi.stop().await.unwrap();
}
