//! A device that tries everything that the broker's protocol offers: it stays within its own subjects.

use super::{Fleet, device};
use crate::support::{fleet::FLEET, served::soon};
use base::error::ToolError;
use fleet_protocol::subject::{Subjects, status_stream};
use raspi_mcp::broker::stream::{log_shape, status_shape};
use serde_json::json;
use std::time::Duration;

/// What the broker keeps under a subject, as text.
async fn kept(fleet: &Fleet) -> Vec<(String, String)> {
    let console = fleet.server.console(&fleet.desk).await;
    let mut reader = console.read_stream(status_stream(FLEET)).await.unwrap();
    let mut found = Vec::new();
    while let Some(message) = reader.next_kept().await.unwrap() {
        found.push((message.subject, String::from_utf8(message.payload.to_vec()).unwrap()));
    }
    found.sort();
    found
}

#[tokio::test]
async fn headers_and_reply_subjects_reach_no_other_status() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    fleet.report().await;
    let before = kept(&fleet).await;
    assert_eq!(before.len(), 2);
    let subjects = Subjects::of(FLEET);
    let (own, others) = (subjects.status("attic"), subjects.status("shed"));
    let attic = &fleet.clients[0].broker;
    let short = Duration::from_millis(300);
    // A roll-up would erase everything, or this subject's history.
    for kind in ["all", "sub"] {
        let answer = attic.request_with(own.clone(), &[("Nats-Rollup", kind.into())], "x".into(), short).await;
        assert!(answer.is_err(), "the stream acknowledges nothing: {answer:?}");
    }
    assert_eq!(kept(&fleet).await, before, "a message with that header is not taken");
    // The broker would write its acknowledgement, or a copy of a message, into the shed's status.
    attic.publish_from(own.clone(), others.clone(), "x".into()).await.unwrap();
    let get = json!({ "last_by_subj": own }).to_string();
    for verb in [format!("DIRECT.GET.{FLEET}_status"), format!("STREAM.MSG.GET.{FLEET}_status")] {
        attic.publish_from(format!("$JS.API.{verb}"), others.clone(), get.clone().into()).await.unwrap();
    }
    attic.publish(format!("$JS.API.STREAM.PURGE.{FLEET}_status"), "".into()).await.unwrap();
    attic.publish(format!("$JS.API.STREAM.DELETE.{FLEET}_status"), "".into()).await.unwrap();
    attic.publish(others.clone(), "x".into()).await.unwrap();
    attic.flush().await.unwrap();
    let after = kept(&fleet).await;
    assert_eq!(after.len(), 2);
    assert_eq!(after[0], (own.clone(), "x".into()), "its own it may spoil");
    assert_eq!(after[1], before[1], "the other's is as it was");
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!((code, &answer["refused"][0]["name"]), (5, &json!("attic")));
    assert_eq!(device(&answer, "shed")["health"], "good");
}

#[tokio::test]
async fn a_message_id_suppresses_nobody_elses_status() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    fleet.clients[1].reports().await;
    let message = fleet.clients[1].device.status();
    let own = Subjects::of(FLEET).status("attic");
    let id = [("Nats-Msg-Id", "1".to_owned())];
    let _ = fleet.clients[0].broker.request_with(own, &id, "x".into(), Duration::from_millis(300)).await;
    fleet.clients[1].sends(message.clone()).await;
    assert_eq!(kept(&fleet).await[1].1, message);
}

#[tokio::test]
async fn it_overhears_nobody_and_signs_for_nobody() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    let attic = fleet.clients[0].broker.clone();
    // The broker refuses the subscription, so nothing arrives; its own subject shows that the connection is alive.
    let subjects = Subjects::of(FLEET);
    let mut heard = Vec::new();
    for subject in ["_INBOX.>", "rmcp.>", ">", "$JS.EVENT.>", "_INBOX_console.>", &subjects.device("shed")] {
        heard.push(attic.subscribe(subject.to_owned()).await.unwrap());
    }
    let mut own = attic.subscribe(subjects.device("attic")).await.unwrap();
    attic.flush().await.unwrap();
    fleet.clients[1].reports().await;
    let console = fleet.server.console(&fleet.desk).await;
    for name in ["shed", "attic"] {
        console.publish(subjects.look(name), "".into()).await.unwrap();
    }
    assert_eq!(soon(own.next()).await.unwrap().subject, subjects.look("attic"));
    for subscription in &mut heard {
        let message = tokio::time::timeout(Duration::ZERO, subscription.next()).await;
        assert!(message.is_err(), "{message:?}");
    }
    // Signed by it and about another, under its own subject.
    let shed = fleet.clients[1].device.id.clone();
    for (differs, why) in [
        (json!({ "name": "shed" }), "it names another device than its subject"),
        (json!({ "device": shed }), "it has another device id than the registered one"),
        (json!({ "fleet": "away" }), "it is of another fleet"),
    ] {
        let lie = fleet.clients[0].device.signs(&differs);
        fleet.clients[0].sends(lie).await;
        let (code, answer) = fleet.json(&["status"]).await;
        assert_eq!((code, &answer["refused"][0]["name"]), (5, &json!("attic")));
        assert!(answer["refused"][0]["reason"].as_str().unwrap().contains(why), "{answer:#}");
    }
}

#[tokio::test]
async fn the_streams_are_compared_and_corrected() -> Result<(), ToolError> {
    let fleet = Fleet::of(&["attic"]).await;
    let console = fleet.server.console(&fleet.desk).await;
    for shape in [status_shape(FLEET), log_shape(FLEET)] {
        assert_eq!(console.compare_stream(&shape).await?, Some(Vec::new()));
    }
    let mut other = status_shape(FLEET);
    other["max_msg_size"] = json!(4096);
    console.ensure_stream(&other).await?;
    assert_eq!(console.compare_stream(&status_shape(FLEET)).await?.unwrap(), ["max_msg_size is 4096, not 1024"]);
    console.ensure_stream(&status_shape(FLEET)).await?;
    assert_eq!(console.compare_stream(&status_shape(FLEET)).await?, Some(Vec::new()));
    assert_eq!(console.compare_stream(&status_shape("away")).await?, None);
    Ok(())
}
