//! A broker that lies: it can hide a device, and nothing else.

use super::{Fleet, device};
use crate::support::{
    fleet::{FLEET, HOSTILE},
    served::soon,
};
use fleet_protocol::subject::{Subjects, status_stream};
use serde_json::{Value, json};

/// Puts a message under a device's subject, whoever signed it, and waits until the stream shows it.
async fn delivers(fleet: &Fleet, name: &str, message: &str) {
    let broker = &fleet.clients.last().unwrap().broker;
    let console = fleet.server.console(&fleet.desk).await;
    let mut stream = console.read_stream(status_stream(FLEET)).await.unwrap();
    while stream.next_kept().await.unwrap().is_some() {}
    broker.publish(Subjects::of(FLEET).status(name), message.to_owned().into()).await.unwrap();
    // A subject of another form is in no stream.
    if !name.contains('.') {
        soon(async { while stream.next().await.unwrap().payload != message.as_bytes() {} }).await;
    }
}

fn refused(answer: &Value) -> (&str, &str, &Value) {
    let refused = answer["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{answer:#}");
    (refused[0]["name"].as_str().unwrap(), refused[0]["reason"].as_str().unwrap(), &refused[0]["signed_by"])
}

#[tokio::test]
async fn a_replayed_status_is_refused_by_this_console_and_by_the_next() {
    let mut fleet = Fleet::of(&["attic", HOSTILE]).await;
    fleet.report().await;
    let old = fleet.clients[0].device.status();
    fleet.clients[0].device.differs = json!({ "version": "2.2.0" });
    fleet.clients[0].reports().await;
    assert_eq!(fleet.json(&["status"]).await.0, 0);
    delivers(&fleet, "attic", &old).await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!(code, 5, "{answer:#}");
    let (name, why, _) = refused(&answer);
    assert!(name == "attic" && why.contains("not newer than the last one"), "{why}");
    // Nothing is made of it: the device counts as one that is not heard.
    assert_eq!(device(&answer, "attic")["health"], "silent");
    fleet.clients[0].reports().await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!((code, &device(&answer, "attic")["version"]), (0, &json!("2.2.0")));
}

#[tokio::test]
async fn a_forged_and_an_exchanged_status_are_refused_and_the_signer_is_named() {
    let mut fleet = Fleet::of(&["attic", "shed", HOSTILE]).await;
    fleet.report().await;
    let good = fleet.clients[0].device.status();
    delivers(&fleet, "attic", &good.replace("2.1.0", "9.9.9")).await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!(code, 5);
    assert!(refused(&answer).1.contains("signature"), "{answer:#}");
    // What the shed signed, under the attic's subject.
    let other = fleet.clients[1].device.status();
    delivers(&fleet, "attic", &other).await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!(code, 5);
    assert_eq!(refused(&answer).2, "shed");
    assert_eq!(device(&answer, "attic")["health"], "silent");
    assert_eq!(device(&answer, "shed")["health"], "good");
    // A name that nobody has, and rubbish.
    delivers(&fleet, "attic", &good).await;
    for name in ["nobody", "attic.kitchen"] {
        delivers(&fleet, name, &good).await;
    }
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!((code, refused(&answer).0), (5, "nobody"));
}

#[tokio::test]
async fn dropped_statuses_make_a_device_silent_and_not_good() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    fleet.clients[1].reports().await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!((code, &device(&answer, "attic")["health"]), (4, &json!("silent")));
}
