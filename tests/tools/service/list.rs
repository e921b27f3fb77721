//! `service.list_services`

use super::Scene;
use crate::support::{pi::Pi, private_bus::FakeUnit};
use serde_json::{Value, json};

const TOOL: &str = "service.list_services";

fn names(list: &Value) -> Vec<&str> {
    list["services"].as_array().unwrap().iter().map(|service| service["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn loaded_and_installed_services_by_name() {
    let scene = Scene::busy().await;
    let answer = scene.pi.call(TOOL, json!({})).await;
    assert!(!answer.simulated);
    let list = answer.ok();
    assert_eq!(
        names(&list),
        ["backup.service", "cron.service", "getty@tty1.service", "nginx.service", "ssh.service"],
        "no target, no template, no second name, nothing that is only mentioned"
    );
    assert_eq!(
        list["services"][4],
        json!({"name": "ssh.service", "description": "OpenBSD Secure Shell server", "status": "active",
               "sub_status": "running", "enabled": true, "unit_file_state": "enabled"})
    );
    let backup = &list["services"][0];
    assert_eq!((&backup["status"], &backup["enabled"]), (&json!("inactive"), &json!(false)));
    assert_eq!(list["services"][2]["enabled"], true, "an instance, by its template");
    assert_eq!(list["pagination"]["total_count"], 5);
}

#[tokio::test]
async fn filters_narrow_and_pages_follow_each_other() {
    let scene = Scene::busy().await;
    for (args, wanted) in [
        (json!({"status": ["failed"]}), &["nginx.service"][..]),
        (json!({"status": ["failed", "inactive"]}), &["backup.service", "nginx.service"]),
        (json!({"name": "*n*"}), &["cron.service", "nginx.service"]),
        (json!({"name": "SSH"}), &["ssh.service"]),
        (json!({"name": "ssh.service"}), &["ssh.service"]),
        (json!({"name": "s?h*", "enabled": true}), &["ssh.service"]),
        (json!({"name": "s?h*", "enabled": false}), &[]),
        (json!({"enabled": false}), &["backup.service"]),
        (json!({"limit": 2, "offset": 1}), &["cron.service", "getty@tty1.service"]),
        (json!({"offset": 99}), &[]),
    ] {
        let list = scene.pi.call(TOOL, args.clone()).await.ok();
        assert_eq!(names(&list), wanted, "{args}");
        assert_eq!(list.get("note").is_some(), wanted.is_empty(), "an empty list says why: {list}");
    }
    let none = scene.pi.call(TOOL, json!({"name": "sshd"})).await.ok();
    assert_eq!(none["note"], "none of the 5 services here matches the filter");
    let page = scene.pi.call(TOOL, json!({"limit": 2})).await.ok();
    assert_eq!(
        page["pagination"],
        json!({"limit": 2, "offset": 0, "returned_count": 2, "total_count": 5, "has_more": true, "next_offset": 2})
    );
}

#[tokio::test]
async fn details_are_asked_for_the_running_ones_of_the_page_alone() {
    let scene = Scene::busy().await;
    scene.systemd.put(
        "cron.service",
        FakeUnit::active("cron")
            .number("MemoryCurrent", 4096)
            .number("CPUUsageNSec", 1)
            .number("ActiveEnterTimestampMonotonic", 1),
    );
    scene.pi.call(TOOL, json!({})).await.ok();
    scene.systemd.calls();
    let list = scene.pi.call(TOOL, json!({"detail": true, "limit": 2})).await.ok();
    assert_eq!(scene.systemd.calls(), ["ListUnitsByPatterns", "GetAll"]);
    let cron = &list["services"][1];
    assert_eq!((&cron["pid"], &cron["memory_bytes"], &cron["restart_count"]), (&json!(500), &json!(4096), &json!(0)));
    assert_eq!(cron["cpu_percent"], 0.0);
    assert!(cron["uptime_seconds"].as_u64().unwrap() > 0, "{cron}");
    assert_eq!(list["services"][0].get("pid"), None);
}

#[tokio::test]
async fn unit_files_are_read_once_until_systemd_says_that_they_changed() {
    let scene = Scene::busy().await;
    scene.pi.call(TOOL, json!({})).await.ok();
    let first = scene.systemd.calls();
    assert_eq!(first, ["Subscribe", "ListUnitFilesByPatterns", "ListUnitsByPatterns"]);
    scene.pi.call(TOOL, json!({})).await.ok();
    assert_eq!(scene.systemd.calls(), ["ListUnitsByPatterns"], "one message");
    scene.systemd.put("backup.service", FakeUnit { file_state: Some("enabled"), ..FakeUnit::inactive("Backup") });
    scene.systemd.unit_files_changed().await;
    // The signal and the call come over one connection, in this order, but to two tasks.
    let mut seen = false;
    for _ in 0..100 {
        seen = names(&scene.pi.call(TOOL, json!({"enabled": true})).await.ok()).contains(&"backup.service");
        if seen {
            break;
        }
    }
    assert!(seen, "enabled is what the file says now");
    assert_eq!(scene.systemd.calls().iter().filter(|call| *call == "ListUnitFilesByPatterns").count(), 1);
}

#[tokio::test]
async fn bad_arguments_are_refused_by_name() {
    let scene = Scene::new().await;
    for (args, parameter) in [
        (json!({"name": ""}), "name"),
        (json!({"name": "x".repeat(256)}), "name"),
        (json!({"name": 7}), "name"),
        (json!({"status": "failed"}), "status"),
        (json!({"status": []}), "status"),
        (json!({"status": ["broken"]}), "status.0"),
        (json!({"status": vec!["failed"; 9]}), "status"),
        (json!({"enabled": "yes"}), "enabled"),
        (json!({"detail": 1}), "detail"),
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 1001}), "limit"),
        (json!({"offset": -1}), "offset"),
        (json!({"offset": u64::MAX}), "offset"),
        (json!({"command": "reboot"}), "command"),
    ] {
        let refusal = scene.pi.call(TOOL, args.clone()).await.refused();
        assert_eq!(
            (&refusal["error_code"], &refusal["details"]["parameter"]),
            (&json!("invalid_argument"), &json!(parameter)),
            "{args}"
        );
    }
    assert_eq!(scene.systemd.calls(), [] as [String; 0], "systemd was not asked");
    // A pattern is no path into anything, nor a command.
    for name in ["../../etc/passwd", "$(reboot)", "a\0b", "[a-z]*", "\\"] {
        assert_eq!(names(&scene.pi.call(TOOL, json!({ "name": name })).await.ok()), [] as [&str; 0]);
    }
}

#[tokio::test]
async fn a_machine_without_a_bus_says_so() {
    let refusal = Pi::like("pi-4b").call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "capability_missing", "{refusal}");
    assert_eq!(refusal["details"]["resource"], "system bus");
}

#[tokio::test]
async fn a_bus_without_systemd_says_so() {
    let bus = crate::support::private_bus::PrivateBus::start();
    let pi = Pi::on_bus(crate::support::trees::machine(crate::support::trees::tree("pi-4b")), bus.bus());
    let refusal = pi.call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "capability_missing", "{refusal}");
    assert_eq!(refusal["details"]["resource"], "org.freedesktop.systemd1");
}
