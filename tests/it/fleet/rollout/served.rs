//! A rollout that an assistant begins: by the hash of a signed plan, also over a restart of the server.

use super::broker::Desk;
use crate::{fleet::Served, support::served::soon};
use fleet_protocol::rollout::DecisionKind;
use raspi_mcp::fleet::rollout::read_log;
use serde_json::json;
use std::{os::unix::fs::symlink, time::Duration};
use update::bundle::Digest;

#[tokio::test]
async fn it_is_shown_begun_once_and_goes_on_after_a_restart() {
    let mut desk = Desk::new().await;
    let dir = desk.fleet.desk.path().to_owned();
    symlink(desk.fleet.home.path(), dir.join("plans")).unwrap();
    let mut served = Served::of(&desk.fleet.home, &dir, "");
    served.wire.call("fleet.plan_rollout", json!({ "plan": "spring" })).await.failed("not_found");
    let unsigned = served.wire.call("fleet.plan_rollout", json!({ "plan": "plan" })).await;
    assert!(unsigned.failed("not_found")["message"].as_str().unwrap().contains("not signed"));
    let hash = desk.sign().await;
    let shown = served.wire.call("fleet.plan_rollout", json!({ "plan": "plan" })).await;
    assert_eq!((&shown.ok()["plan_hash"], &shown.ok()["stages"][0]["percent"]), (&json!(hash), &json!(75)));
    served.wire.call("fleet.apply_rollout", json!({ "plan_hash": "0".repeat(64) })).await.failed("not_found");
    for already in [false, true] {
        let begun = served.wire.call("fleet.apply_rollout", json!({ "plan_hash": hash })).await;
        let wanted = json!({ "plan_hash": hash, "already": already, "stage": 1, "stages": 2 });
        assert_eq!((begun.ok(), &begun.meta()["changed"]), (&wanted, &json!(!already)));
    }
    let sequence = |desk: &Desk, wanted: u64| {
        let index = desk.index();
        (index.sequence >= wanted).then_some(index.releases[0].rollout.percent)
    };
    soon(async {
        while sequence(&desk, 8).is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    // Its client is gone: it gives the rollout up. The next server goes on with the second stage.
    drop(served.wire);
    assert!(soon(served.child.wait()).await.unwrap().success());
    let _served = Served::of(&desk.fleet.home, &dir, "");
    let manifest = Digest::of(b"1.2.0").to_string();
    for client in &mut desk.fleet.clients {
        client.device.differs = json!({ "version": "1.2.0", "manifest": manifest, "state": "good" });
        client.reports().await;
    }
    // It has listened for too short a time to believe in silence: that is the last thing before the second stage.
    let log = desk.path("plan.signed/decisions.jsonl");
    tokio::time::timeout(Duration::from_secs(60), async {
        while !read_log(&log).unwrap().last().unwrap().why.contains("the soak is over") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("the first stage is judged");
    let kinds: Vec<DecisionKind> = read_log(&log).unwrap().iter().map(|decision| decision.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == DecisionKind::Takeover).count(), 2, "{kinds:?}");
    assert_eq!(desk.index().sequence, 8);
}
