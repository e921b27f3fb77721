//! Arguments that are none, and machines that are not made for updates.

use crate::support::pi::Pi;
use serde_json::{Value, json};

#[tokio::test]
async fn bad_arguments_are_told_by_their_names() {
    let pi = Pi::like("pi-4b");
    let long = "a".repeat(65);
    let hash = "0".repeat(64);
    let cases: Vec<(&str, Value, &str)> = vec![
        ("check_for_updates", json!({"channel": ""}), "channel"),
        ("check_for_updates", json!({"channel": long}), "channel"),
        ("check_for_updates", json!({"channel": "../x"}), "channel"),
        ("check_for_updates", json!({"channel": "a\0b"}), "channel"),
        ("check_for_updates", json!({"channel": 7}), "channel"),
        ("check_for_updates", json!({"chanel": "beta"}), "chanel"),
        ("update_server", json!({"target_version": "1.2"}), "target_version"),
        ("update_server", json!({"target_version": "1.2.3; reboot"}), "target_version"),
        ("update_server", json!({"dry_run": "yes"}), "dry_run"),
        ("get_update_status", json!({"verbose": true}), "verbose"),
        ("preview_os_updates", json!({"channel": "Stable"}), "channel"),
        ("apply_os_updates", json!({"plan_id": "x"}), "plan_hash"),
        ("apply_os_updates", json!({"plan_id": "x y", "plan_hash": hash}), "plan_id"),
        ("apply_os_updates", json!({"plan_id": "x", "plan_hash": "0".repeat(63)}), "plan_hash"),
        ("apply_os_updates", json!({"plan_id": "x", "plan_hash": "G".repeat(64)}), "plan_hash"),
        ("rollback", json!({"dry_run": 1}), "dry_run"),
        ("mark_good", json!({"force": true}), "force"),
    ];
    for (tool, args, names) in cases {
        let refused = pi.call(&format!("manage.{tool}"), args.clone()).await.refused();
        assert_eq!(refused["error_code"], "invalid_argument", "{tool} {args}");
        assert!(refused.to_string().contains(names), "{tool} {args}: {refused}");
    }
    // What may be left out may be null as well.
    for tool in ["check_for_updates", "preview_os_updates"] {
        let refused = pi.call(&format!("manage.{tool}"), json!({"channel": null})).await.refused();
        assert_eq!(refused["error_code"], "failed_precondition", "{refused}");
    }
}

#[tokio::test]
async fn without_an_agent_the_status_says_so_and_nothing_is_begun() {
    let pi = Pi::like("pi-4b");
    let status = pi.call("manage.get_update_status", json!({})).await.ok();
    assert_eq!((&status["status"]["status"], &status["slots"]), (&json!("pending"), &json!([])));
    assert!(status["faults"][0].as_str().unwrap().contains("does not answer"), "{status}");
    for tool in ["update_server", "rollback", "mark_good"] {
        assert_eq!(
            pi.call(&format!("manage.{tool}"), json!({})).await.refused()["error_code"],
            "unavailable",
            "{tool}"
        );
    }
}
