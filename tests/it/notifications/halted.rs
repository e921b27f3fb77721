//! News of a halt: each once, also when the server restarts, and never who set it or why.

use super::receiver::{Receiver, told, webhook};
use crate::support::served::{Pi, soon};
use agent::{
    AgentLink, Client,
    operations::halt::{HaltRequest, LiftHalt, SetHalt},
};
use base::{clock::Wall, os::Root};
use contract::config::{Places, Settings};
use raspi_mcp::notifications::{NewsSources, Notifications};
use serde_json::json;
use std::fs;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const WHY: &str = "the pump in the cellar leaks";

#[tokio::test]
async fn each_halt_is_told_without_its_reason_or_who_set_it() {
    let receiver = Receiver::new().await;
    let pi = Pi::standard(|settings| {
        settings.tools.enable.insert("manage".into());
        told(settings, &receiver, json!({"events": ["halted"]}));
    })
    .await;
    pi.call("manage.halt", json!({"reason": WHY})).await.ok();
    let body = receiver.requests(1).await[0].json();
    assert_eq!((&body["event"], &body["data"]["how"]), (&json!("halted"), &json!("manage.halt")));
    assert!(body["data"]["since"].as_str().unwrap().starts_with("20"), "{body:#}");
    assert_eq!(body["data"].as_object().unwrap().len(), 2);
    // A second attempt is no other halt; one after it was lifted is.
    pi.call("manage.halt", json!({})).await.ok();
    let person = AgentLink::Socket(Client::new(&pi.server().pipeline.services.settings.places.agent_socket));
    assert!(person.get::<LiftHalt>().await.unwrap().lifted);
    let request = HaltRequest { reason: Some(WHY.into()), authorization: None };
    person.call::<SetHalt>(request).await.unwrap();
    let requests = receiver.requests(2).await;
    assert_eq!(requests[1].json()["data"]["how"], "raspi-mcp halt");
    for request in &requests {
        let all = format!("{}\n{}", request.head, request.body);
        assert!(!all.contains("pump") && !all.contains("stdio"), "{all}");
    }
    assert_eq!(requests.len(), 2);
    pi.stop().await.unwrap();
}

/// What is sent by a server that starts while the machine is halted, with what the one before it kept.
#[tokio::test]
async fn a_halt_that_was_told_is_not_told_again_after_a_restart() {
    let (receiver, home) = (Receiver::new().await, TempDir::new().unwrap());
    let pi = Pi::standard(|settings| settings.tools.enable.extend(["manage".into()])).await;
    let halt = || async { pi.call("manage.halt", json!({"reason": WHY})).await.ok().clone() };
    halt().await;
    let server = pi.server();
    let services = &server.pipeline.services;
    let start = || {
        let mut settings = Settings::default_for(&Places::below(home.path()));
        fs::create_dir_all(&settings.places.state_dir).unwrap();
        settings.notifications.webhooks.push(webhook(&receiver.url("/hook"), json!({"events": ["halted"]})));
        let news = Notifications::of(&settings, &Root::system(), Wall::system());
        let sources = NewsSources {
            sampling: services.sampling.clone(),
            updates: services.updates.clone(),
            agent: services.agent.clone(),
            halt: services.halt.changes(),
        };
        let stop = CancellationToken::new();
        news.begin(sources, &stop);
        (news, stop)
    };
    let (_news, stop) = start();
    receiver.requests(1).await;
    let file = Places::below(home.path()).state_dir.join("notifications.json");
    soon(async {
        while !fs::read_to_string(&file).is_ok_and(|text| text.contains("\"halt\":1")) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stop.cancel();
    // The next halt is the second message: the first was not sent again.
    let (_news, _stop) = start();
    let person = AgentLink::Socket(Client::new(&services.settings.places.agent_socket));
    assert!(person.get::<LiftHalt>().await.unwrap().lifted);
    let lifted = services.halt.changes().wait_for(|state| state.halted.is_none()).await.map(drop);
    lifted.unwrap();
    halt().await;
    let since = |n: usize| receiver.so_far()[n].json()["data"]["since"].clone();
    receiver.requests(2).await;
    assert_ne!(since(0), since(1));
    assert_eq!(receiver.so_far().len(), 2);
    pi.stop().await.unwrap();
}
