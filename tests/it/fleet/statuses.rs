//! `fleet status | ls --dir`: tables, filters, groups, exit codes.

use super::{Fleet, device};
use serde_json::json;

#[tokio::test]
async fn the_console_shows_what_the_devices_signed() {
    let mut fleet = Fleet::of(&["attic", "kitchen", "shed"]).await;
    fleet.report().await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(answer["summary"], json!({ "good": 3, "wrong": 0, "unknown": 0, "silent": 0 }));
    assert_eq!(answer["refused"], json!([]));
    let kitchen = device(&answer, "kitchen");
    assert_eq!(kitchen["running"], json!({ "slot": "a", "state": "good", "version": "2.1.0" }));
    assert_eq!(kitchen["answers"], true);

    fleet.clients[1].device.differs = json!({
        "version": "2.2.0", "healthy": false, "problems": ["the disk is full"], "tags": ["upstairs"],
        "attempt": { "version": "2.3.0", "manifest": "", "phase": "rolled_back", "reason": "no network", "time_ms": 1 },
    });
    fleet.clients[1].reports().await;
    let (code, text, _) = fleet.runs(&["status"]).await;
    assert_eq!(code, 1, "{text}");
    for expected in ["the disk is full", "2.3.0 rolled back: no network", "3 devices: 2 good, 1 with something wrong"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for (filter, names) in [
        (&["--version", "2.2.0"][..], json!(["kitchen"])),
        (&["--version", "2.2.0", "--version", "2.1.0"], json!(["attic", "kitchen", "shed"])),
        (&["--health", "good"], json!(["attic", "shed"])),
        (&["--tag", "upstairs", "--health", "wrong"], json!(["kitchen"])),
        (&["--silent"], json!([])),
        (&["shed"], json!(["shed"])),
    ] {
        let (code, answer) = fleet.json(&[&["ls"], filter].concat()).await;
        assert_eq!((code, &answer), (0, &names), "{filter:?}");
    }
    let (_, answer) = fleet.json(&["status", "--group-by", "version"]).await;
    assert_eq!(answer["groups"]["2.1.0"]["good"], 2);
    assert_eq!(answer["groups"]["2.2.0"]["wrong"], 1);
    let (_, text, _) = fleet.runs(&["status", "--group-by", "health"]).await;
    assert!(text.starts_with("HEALTH  DEVICES  GOOD  WRONG  UNKNOWN  SILENT\n"), "{text}");
}

#[tokio::test]
async fn a_device_that_never_reported_and_one_that_reported_long_ago_are_silent() {
    let mut fleet = Fleet::of(&["attic", "kitchen"]).await;
    // The broker's time is now; that of the device counts too, or a repeated message would be a sign of life.
    fleet.clients[1].device.differs = json!({ "time_ms": 1_767_225_600_000_i64 });
    fleet.clients[1].reports().await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!(code, 4, "{answer:#}");
    assert_eq!(answer["summary"]["silent"], 2);
    assert_eq!(device(&answer, "attic")["problems"], json!(["it has never sent a status"]));
    assert!(device(&answer, "kitchen")["problems"][0].as_str().unwrap().contains("behind the broker's"));
    // One that sends what does not count has not "never sent" anything.
    let lie = fleet.clients[0].device.signs(&json!({ "name": "shed" }));
    fleet.clients[0].sends(lie).await;
    let (code, answer) = fleet.json(&["status"]).await;
    let problem = device(&answer, "attic")["problems"][0].as_str().unwrap();
    assert!(code == 5 && problem.contains("was refused: "), "{code} {problem}");
}

#[tokio::test]
async fn a_revoked_device_is_in_no_list() {
    let mut fleet = Fleet::of(&["attic", "kitchen"]).await;
    fleet.report().await;
    fleet.desk.registers(&fleet.clients[0].device, &[], true);
    let (code, answer) = fleet.json(&["status"]).await;
    assert_eq!((code, answer["devices"].as_array().unwrap().len()), (0, 1));
    let (code, _, why) = fleet.runs(&["halt", "attic", "--reason", "a test"]).await;
    assert_eq!(code, 5);
    assert!(why.contains("attic was revoked"), "{why}");
}

#[tokio::test]
async fn a_folder_that_is_none_and_a_broker_that_is_away_are_told_apart() {
    let fleet = Fleet::of(&["attic"]).await;
    std::fs::write(fleet.desk.file("devices/attic.json"), "{}").unwrap();
    let (code, _, why) = fleet.runs(&["status"]).await;
    assert!(code == 3 && why.contains("attic.json"), "{code} {why}");
    std::fs::remove_file(fleet.desk.file("devices/attic.json")).unwrap();
    fleet.desk.names_broker(1);
    let (code, _, why) = fleet.runs(&["status"]).await;
    assert!(code == 4 && why.contains("the broker cannot be used"), "{code} {why}");
}
