//! An update from its check to its commit, a bad one and the way back, and who may do what.

use super::web::{Web, admin, slot, until};
use crate::support::served::Door;
use contract::meta::Mode;
use serde_json::json;

#[tokio::test]
async fn a_good_release_is_committed_and_a_bad_one_goes_back_with_its_reason() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "the second system\n");
    let pi = web.pi(|settings| settings.update.health_deadline_seconds = 8).await;
    let mut wire = admin(&pi).await;
    let before = until(&mut wire, "there", |_| true).await;
    assert_eq!((&before["status"]["status"], &before["phase"]), (&json!("pending"), &json!(null)));
    assert_eq!((&slot(&before, "A")["running"], &slot(&before, "B")["running"]), (&json!(true), &json!(false)));

    let found = wire.call("manage.check_for_updates", json!({})).await.ok().clone();
    assert_eq!((&found["update_available"], &found["latest_version"]), (&json!(true), &json!("1.1.0")));
    assert_eq!(found["release_notes"], "What is new in 1.1.0.");
    assert!(found["checksum"].as_str().unwrap().starts_with("sha256:"));

    let planned = wire.call("manage.update_server", json!({"dry_run": true})).await;
    assert_eq!((&planned.ok()["new_version"], &planned.ok()["status"]["status"]), (&json!("1.1.0"), &json!("pending")));
    assert_eq!(planned.meta()["simulated"], true);
    assert_ne!(planned.meta()["changed"], true);

    let begun = wire.call("manage.update_server", json!({})).await;
    assert_eq!((&begun.ok()["new_version"], &begun.ok()["status"]["status"]), (&json!("1.1.0"), &json!("running")));
    assert_eq!(begun.meta()["changed"], true);
    let done = until(&mut wire, "committed", |status| status["phase"] == "committed").await;
    assert_eq!(done["status"]["status"], "succeeded");
    assert_eq!((&slot(&done, "B")["version"], &slot(&done, "B")["state"]), (&json!("1.1.0"), &json!("good")));
    assert_eq!((&slot(&done, "B")["running"], &slot(&done, "B")["next"]), (&json!(true), &json!(true)));
    let status = wire.call("manage.get_server_status", json!({})).await;
    assert_eq!(status.ok()["last_update"]["status"], "succeeded");
    let found = wire.call("manage.check_for_updates", json!({})).await.ok().clone();
    assert_eq!((&found["update_available"], &found["current_version"]), (&json!(false), &json!("1.1.0")));

    web.release("1.2.0", 12, "sick: its server does not start\n");
    let plan = wire.call("manage.preview_os_updates", json!({})).await.ok().clone();
    assert_eq!((&plan["from_version"], &plan["to_version"]), (&json!("1.1.0"), &json!("1.2.0")));
    assert_eq!(plan["target_slot"], "A");
    let named = json!({"plan_id": plan["plan_id"], "plan_hash": plan["plan_hash"]});
    let begun = wire.call("manage.apply_os_updates", named).await;
    assert_eq!(begun.ok()["new_version"], "1.2.0");
    let back = until(&mut wire, "rolled back", |status| status["phase"] == "rolled_back").await;
    assert_eq!(back["status"]["status"], "failed");
    let reason = back["last_attempt"]["reason"].as_str().unwrap();
    assert!(reason.contains("its server does not start"), "{reason}");
    assert_eq!((&slot(&back, "B")["running"], &slot(&back, "B")["version"]), (&json!(true), &json!("1.1.0")));
    assert_ne!(slot(&back, "A")["state"], "good");
    // It is not offered again, and why is said.
    let back = until(&mut wire, "judged", |status| slot(status, "A")["state"] == "bad").await;
    assert_eq!(slot(&back, "A")["next"], false);
    let found = wire.call("manage.check_for_updates", json!({})).await.ok().clone();
    assert_eq!(found["update_available"], false);
    assert!(found["held"].as_str().unwrap().contains("1.2.0 failed on this device"), "{found}");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn nothing_newer_a_pause_and_no_channel_are_told() {
    let mut web = Web::new();
    web.publish();
    let pi = web.pi(|_| {}).await;
    let mut wire = admin(&pi).await;
    let found = wire.call("manage.check_for_updates", json!({})).await.ok().clone();
    assert_eq!((&found["update_available"], &found["latest_version"]), (&json!(false), &found["current_version"]));
    let refused = wire.call("manage.update_server", json!({})).await;
    refused.failed("failed_precondition");
    web.release("1.1.0", 11, "x");
    web.change(|index| index.paused = Some("a bad week".into()));
    let found = wire.call("manage.check_for_updates", json!({})).await.ok().clone();
    assert_eq!((&found["update_available"], &found["latest_version"]), (&json!(false), &json!("1.1.0")));
    assert!(found["held"].as_str().unwrap().contains("a bad week"));
    wire.call("manage.preview_os_updates", json!({})).await.failed("failed_precondition");
    wire.call("manage.check_for_updates", json!({"channel": "beta"})).await.failed("unavailable");
    wire.call("manage.update_server", json!({"target_version": "9.9.9", "dry_run": true}))
        .await
        .failed("failed_precondition");

    let none = web.pi(|settings| settings.update.url.clear()).await;
    let refused = admin(&none).await.call("manage.check_for_updates", json!({})).await;
    assert!(refused.failed("failed_precondition")["message"].as_str().unwrap().contains("channel"));
}

#[tokio::test]
async fn a_plan_is_applied_as_it_was_shown_or_not_at_all() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "x");
    let pi = web.pi(|_| {}).await;
    let mut wire = admin(&pi).await;
    let plan = wire.call("manage.preview_os_updates", json!({})).await.ok().clone();
    let id = plan["plan_id"].as_str().unwrap().to_owned();
    let wrong = json!({"plan_id": id, "plan_hash": "0".repeat(64)});
    wire.call("manage.apply_os_updates", wrong).await.failed("failed_precondition");
    let unknown = json!({"plan_id": "1.1.0-000000000000", "plan_hash": plan["plan_hash"]});
    wire.call("manage.apply_os_updates", unknown).await.failed("not_found");
    // The channel has another bundle under that version by now: nobody has seen a plan of that.
    web.change(|index| index.releases.clear());
    web.release("1.1.0", 11, "y");
    let named = json!({"plan_id": plan["plan_id"], "plan_hash": plan["plan_hash"]});
    let refused = wire.call("manage.apply_os_updates", named).await;
    assert!(refused.failed("failed_precondition")["message"].as_str().unwrap().contains("another bundle"));
    let status = until(&mut wire, "there", |_| true).await;
    assert_eq!((&status["status"]["status"], &status["phase"]), (&json!("failed"), &json!("failed")));
    assert_eq!(
        (&slot(&status, "B")["state"], &slot(&status, "B")["version"]),
        (&json!("unknown"), &json!(null)),
        "nothing was written"
    );
}

#[tokio::test]
async fn a_person_is_asked_and_only_administrators_may_ask() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "x");
    let pi = web
        .pi(|settings| {
            settings.policy.retain(|_, mode| *mode != Mode::Allow);
            settings.approval.wait_seconds = 1;
        })
        .await;
    let mut wire = admin(&pi).await;
    for (tool, args) in [("update_server", json!({})), ("rollback", json!({})), ("mark_good", json!({}))] {
        let waits = wire.call(&format!("manage.{tool}"), args).await;
        assert!(waits.failed("failed_precondition")["message"].as_str().unwrap().contains("approval"), "{tool}");
    }
    // Looking asks nobody.
    wire.call("manage.update_server", json!({"dry_run": true})).await.ok();
    let reader = contract::access::caller::Caller::new(
        "reader",
        contract::meta::Role::OpsRw,
        contract::access::caller::Transport::Stdio,
    );
    let mut reader = pi.stdio(reader);
    for tool in ["update_server", "apply_os_updates", "rollback", "mark_good"] {
        reader.call(&format!("manage.{tool}"), json!({})).await.failed("permission_denied");
    }
    for tool in ["check_for_updates", "get_update_status", "preview_os_updates"] {
        reader.call(&format!("manage.{tool}"), json!({})).await.ok();
    }
}

#[tokio::test]
async fn whoever_watches_the_update_hears_of_it() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "x");
    let pi = web.pi(|_| {}).await;
    let mut watcher = pi.on(Door::Stdio).await;
    watcher.initialize("2025-11-25", "watcher").await.result();
    watcher.request("resources/subscribe", json!({"uri": "raspi://update"})).await.result();
    admin(&pi).await.call("manage.update_server", json!({})).await.ok();
    loop {
        let heard = watcher.next().await.expect("a message");
        if heard.message["method"] == "notifications/resources/updated" {
            assert_eq!(heard.message["params"]["uri"], "raspi://update");
            break;
        }
    }
    let read = watcher.request("resources/read", json!({"uri": "raspi://update"})).await;
    let text = read.result()["contents"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("1.1.0"), "{text}");
}

#[tokio::test]
async fn a_healthy_system_is_good_already_and_there_is_nothing_to_go_back_to_at_first() {
    let mut web = Web::new();
    web.publish();
    let pi = web.pi(|_| {}).await;
    let mut wire = admin(&pi).await;
    let planned = wire.call("manage.rollback", json!({"dry_run": true})).await;
    // The factory ships both slots alike: going back is possible, to the same version.
    let answer = planned.ok();
    assert_eq!(
        (&answer["from_slot"], &answer["to_slot"], &answer["dry_run"]),
        (&json!("A"), &json!("B"), &json!(true))
    );
    assert_ne!(planned.meta()["changed"], true);
}
