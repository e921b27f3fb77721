//! News of updates that end badly, on the simulated machine: with a code, without the reason's text.

use super::receiver::{Receiver, told};
use crate::manage::web::{Web, admin, until};
use serde_json::json;

#[tokio::test]
async fn an_update_that_fails_is_told_with_its_code() {
    let (web, receiver) = (Web::new(), Receiver::new().await);
    let pi = web.pi(|settings| told(settings, &receiver, json!({"events": ["update_failed"]}))).await;
    let mut wire = admin(&pi).await;
    let error = wire.call("manage.update_server", json!({})).await.error().clone();
    let request = receiver.requests(1).await.remove(0);
    let body = request.json();
    assert_eq!((&body["event"], &body["data"]["code"]), (&json!("update_failed"), &error["error_code"]));
    let folder = web.folder.path().display().to_string();
    assert!(!request.body.contains(&folder), "{}", request.body);
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_system_that_goes_back_is_told_once() {
    let (mut web, receiver) = (Web::new(), Receiver::new().await);
    web.release("1.1.0", 11, "sick: its server does not start\n");
    let pi = web
        .pi(|settings| {
            settings.update.health_deadline_seconds = 8;
            told(settings, &receiver, json!({}));
        })
        .await;
    let mut wire = admin(&pi).await;
    wire.call("manage.update_server", json!({})).await.ok();
    let status = until(&mut wire, "rolled back", |status| status["phase"] == "rolled_back").await;
    assert!(status["last_attempt"]["reason"].as_str().unwrap().contains("its server does not start"));
    let requests = receiver.requests(1).await;
    let body = requests[0].json();
    assert_eq!((&body["event"], &body["data"]["version"]), (&json!("update_rolled_back"), &json!("1.1.0")));
    assert_eq!(body["data"]["code"], "rolled_back");
    assert!(!requests[0].body.contains("its server"), "{}", requests[0].body);
    // The old slot's judgement is a change too, and no news.
    until(&mut wire, "judged", |status| status["slots"].to_string().contains("\"bad\"")).await;
    let report = wire.call("manage.get_server_status", json!({})).await.ok()["notifications"][0].clone();
    assert_eq!((&report["waiting"], receiver.so_far().len()), (&json!(0), 1), "{:#?}", receiver.so_far());
    pi.stop().await.unwrap();
}
