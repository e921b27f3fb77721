//! `service.get_status`

use super::Scene;
use crate::support::private_bus::FakeUnit;
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
