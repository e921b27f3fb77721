//! `service.get_status`

use super::Scene;
use crate::support::{pi::Pi, private_bus::FakeUnit, trees::machine};
use contract::{config::Settings, meta::Mode};
use serde_json::json;

const TOOL: &str = "service.get_status";

#[tokio::test]
async fn everything_about_one_service_in_one_message() {
    let scene = Scene::new().await;
    let unit = FakeUnit::active("Web server")
        .list("Environment", &["MODE=fast", "API_TOKEN=hunter2"])
        .list("Requires", &["system.slice"])
        .list("WantedBy", &["multi-user.target"])
        .list("DropInPaths", &["/etc/systemd/system/nginx.service.d/a.conf"])
        .text("FragmentPath", "/lib/systemd/system/nginx.service")
        .text("WorkingDirectory", "-/srv")
        .text("User", "www-data")
        .text("Restart", "on-failure")
        .text("StatusText", "serving, password=hunter2");
    scene.systemd.put("nginx.service", unit);
    let answer = scene.pi.call(TOOL, json!({"service_name": "nginx"})).await;
    assert!(!answer.simulated);
    let status = answer.ok();
    assert_eq!(scene.systemd.calls(), ["GetAll"]);
    for (field, wanted) in [
        ("name", json!("nginx.service")),
        ("display_name", json!("nginx")),
        ("description", json!("Web server")),
        ("status", json!("active")),
        ("sub_status", json!("running")),
        ("enabled", json!(true)),
        ("pid", json!(500)),
        ("fragment_path", json!("/lib/systemd/system/nginx.service")),
        ("unit_file_path", json!("/lib/systemd/system/nginx.service")),
        ("drop_in_paths", json!(["/etc/systemd/system/nginx.service.d/a.conf"])),
        ("working_directory", json!("/srv")),
        ("user", json!("www-data")),
        ("restart_policy", json!("on-failure")),
        ("environment", json!({"MODE": "fast", "API_TOKEN": "[redacted]"})),
        ("exit_code", json!(0)),
    ] {
        assert_eq!(status[field], wanted, "{field}");
    }
    assert_eq!(status["dependencies"]["wanted_by"], json!(["multi-user.target"]));
    assert!(!status.to_string().contains("hunter2"), "{status}");
    for absent in ["group", "memory_bytes", "load_error", "exit_signal"] {
        assert_eq!(status.get(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn an_alias_is_the_unit_behind_it() {
    let scene = Scene::busy().await;
    scene.systemd.alias("sshd.service", "ssh.service");
    let status = scene.pi.call(TOOL, json!({"service_name": "sshd"})).await.ok();
    assert_eq!(status["name"], "ssh.service");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let scene = Scene::busy().await;
    let refusal = scene.pi.call(TOOL, json!({"service_name": "nginy"})).await.refused();
    assert_eq!(
        (&refusal["error_code"], &refusal["message"], &refusal["details"]["service_name"]),
        (&json!("not_found"), &json!("Service 'nginy' not found on this system"), &json!("nginy"))
    );
}

#[tokio::test]
async fn a_name_is_a_name_and_nothing_else() {
    let scene = Scene::busy().await;
    for bad in [
        json!(""),
        json!("a b"),
        json!("../ssh"),
        json!("ssh.service\n"),
        json!("ssh\0"),
        json!("--all"),
        json!("*"),
        json!("ssh;reboot"),
        json!("$(reboot)"),
        json!("ünï"),
        json!("x".repeat(256)),
        json!(7),
        json!(null),
        json!(["ssh"]),
        // Fit the pattern, and are none all the same.
        json!("dbus.socket"),
        json!("multi-user.target"),
        json!("init.scope"),
        json!("getty@.service"),
        json!("x".repeat(250)),
    ] {
        let refusal = scene.pi.call(TOOL, json!({"service_name": bad})).await.refused();
        assert_eq!(
            (&refusal["error_code"], &refusal["details"]["parameter"]),
            (&json!("invalid_argument"), &json!("service_name")),
            "{bad}"
        );
    }
    assert_eq!(scene.systemd.calls(), [] as [String; 0], "systemd was not asked");
    assert_eq!(scene.pi.call(TOOL, json!({})).await.refused()["details"]["parameter"], "service_name");
}

/// The service, with a journalctl that says these lines.
async fn logged(lines: &str) -> Scene {
    let scene = Scene::busy().await;
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/journalctl");
    scene.tree.link("usr/bin/journalctl", program);
    scene.tree.write("usr/bin/lines", lines).write("usr/bin/said", "").write("usr/bin/code", "0");
    scene
}

fn line(number: usize, message: &str) -> String {
    let micros = 1_700_000_000_000_000_u64 - number as u64;
    format!(
        "{}\n",
        json!({"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": micros.to_string(), "PRIORITY": "4", "MESSAGE": message})
    )
}

#[tokio::test]
async fn its_newest_lines_without_secrets_and_cut() {
    let lines: String = (0..12).map(|number| line(number, &format!("password=hunter2 {}", "x".repeat(2000)))).collect();
    let scene = logged(&lines).await;
    let status = scene.pi.call(TOOL, json!({"service_name": "ssh"})).await.ok();
    let shown = status["recent_logs"].as_array().unwrap();
    assert_eq!(
        (shown.len(), &shown[0]["level"], &shown[0]["timestamp"]),
        (10, &json!("warning"), &json!("2023-11-14T22:13:20.000Z"))
    );
    assert_eq!(shown[0]["message"].as_str().unwrap().chars().count(), 501);
    assert!(!status.to_string().contains("hunter2"));
    let args = std::fs::read_to_string(scene.tree.root().path("usr/bin/args")).unwrap();
    assert!(args.contains("--unit=ssh.service\n") && args.contains("--reverse\n"), "{args}");
    let quiet = scene.pi.call(TOOL, json!({"service_name": "ssh", "with_logs": false})).await.ok();
    assert_eq!((quiet.get("recent_logs"), quiet.get("recent_logs_note")), (None, None));
}

#[tokio::test]
async fn without_the_right_to_read_the_journal_there_are_none_and_it_says_so() {
    let scene = logged(&line(0, "seen")).await;
    // Its policy denies the tool that reads the journal, or asks before it, or switches it off.
    let asked = |change: fn(&mut Settings)| {
        let pi = Pi::on_bus_with(machine(scene.tree.root()), scene.bus(), change);
        async move { pi.call(TOOL, json!({"service_name": "ssh"})).await.ok() }
    };
    for (change, why) in [
        (
            (|settings| settings.policy.extend([("logs.query_journal".into(), Mode::Deny)])) as fn(&mut Settings),
            "denied",
        ),
        (|settings| settings.policy.extend([("logs.query_journal".into(), Mode::Ask)]), "a person is asked"),
        (|settings| settings.tools.disable.extend(["logs".into()]), "switched off"),
    ] {
        let status = asked(change).await;
        assert_eq!((status.get("recent_logs"), &status["status"]), (None, &json!("active")), "{why}");
        assert!(status["recent_logs_note"].as_str().unwrap().contains(why), "{why}: {status}");
    }
    assert_eq!(asked(|_| {}).await["recent_logs"][0]["message"], "seen");
    // The journal of this machine lets nobody in.
    scene.tree.write("usr/bin/lines", "").write("usr/bin/code", "1");
    scene.tree.write("usr/bin/said", "No journal files were opened due to insufficient permissions.");
    let status = scene.pi.call(TOOL, json!({"service_name": "ssh"})).await.ok();
    assert_eq!(status.get("recent_logs"), None);
    assert!(status["recent_logs_note"].as_str().unwrap().contains("systemd-journal"), "{status}");
    // No journal at all.
    scene.tree.without("usr/bin/journalctl");
    let status = scene.pi.call(TOOL, json!({"service_name": "ssh"})).await.ok();
    assert_eq!((status.get("recent_logs"), &status["status"]), (None, &json!("active")));
    assert!(status["recent_logs_note"].as_str().unwrap().contains("no journalctl"), "{status}");
}
