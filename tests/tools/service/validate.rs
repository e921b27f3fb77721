//! `service.validate_unit_file`

use super::Scene;
use crate::support::private_bus::FakeUnit;
use serde_json::{Value, json};

const FILE: &str = "/etc/systemd/system/app.service";

/// Writes the file of app.service, with a program, a user and a folder that are there, and judges it.
async fn judged(text: &str) -> Value {
    let scene = Scene::new().await;
    scene.tree.write(FILE.trim_start_matches('/'), text);
    scene.tree.script("usr/bin/app", "true");
    scene.tree.write("etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:900:900::/:/bin/false\n");
    scene.tree.write("etc/group", "root:x:0:\napp:x:900:\n");
    scene.systemd.put("app.service", FakeUnit::inactive("App").text("FragmentPath", FILE));
    scene.systemd.put("db.service", FakeUnit::active("Database"));
    let answer = scene.pi.call("service.validate_unit_file", json!({"service_name": "app"})).await.ok();
    assert_eq!((&answer["service_name"], &answer["files"]), (&json!("app"), &json!([FILE])));
    answer
}

const GOOD: &str = "[Unit]\nDescription=App\nRequires=db.service\n[Service]\nExecStart=/usr/bin/app --serve\nUser=app\nRestart=always\n\
                    WorkingDirectory=/etc\n[Install]\nWantedBy=multi-user.target\n";

#[tokio::test]
async fn a_good_file_has_nothing_to_be_said_about() {
    let answer = judged(GOOD).await;
    assert_eq!((&answer["valid"], &answer["can_enable"]), (&json!(true), &json!(true)));
    assert_eq!((&answer["warnings"], &answer["errors"]), (&json!([]), &json!([])));
    assert_eq!(answer["verify"], "not_installed");
}

#[tokio::test]
async fn each_fault_is_named() {
    for (from, to, kind, words) in [
        ("Description=App\n", "", "warnings", "Missing Description="),
        ("Restart=always\n", "", "warnings", "Service does not have Restart= directive"),
        ("[Install]\nWantedBy=multi-user.target\n", "", "warnings", "Missing [Install] section"),
        ("[Unit]", "[Junit]", "warnings", "Section [Junit] is unknown"),
        ("[Service]\n", "[X-Service]\n", "errors", "Missing [Service] section"),
        ("/usr/bin/app", "/usr/bin/none", "errors", "ExecStart=/usr/bin/none: there is no such file"),
        ("/usr/bin/app", "/etc/passwd", "errors", "it is not executable"),
        ("/usr/bin/app", "/etc", "errors", "it is not a file"),
        ("/usr/bin/app", "none", "errors", "no such program in systemd's search path"),
        ("/usr/bin/app", "-/usr/bin/none", "warnings", "there is no such file"),
        ("/usr/bin/app", "/home/pi/app", "warnings", "cannot be checked from here"),
        ("ExecStart=/usr/bin/app --serve\n", "", "errors", "Service has no ExecStart="),
        ("User=app", "User=nobody-here", "errors", "User=nobody-here: not in /etc/passwd"),
        ("User=app", "Group=nobody-here", "errors", "Group=nobody-here: not in /etc/group"),
        ("WorkingDirectory=/etc", "WorkingDirectory=/none", "errors", "there is no such folder"),
        ("WorkingDirectory=/etc", "WorkingDirectory=/home/pi", "warnings", "cannot be checked from here"),
        ("Requires=db.service", "Requires=none.service", "errors", "It needs none.service, which is not there"),
        ("Requires=db.service", "Wants=none.service", "warnings", "It wants none.service, which is not there"),
        ("User=app", "User", "errors", "app.service:6: neither a [section] nor a setting=value"),
    ] {
        assert!(GOOD.contains(from));
        let answer = judged(&GOOD.replace(from, to)).await;
        let found = answer[kind].as_array().unwrap().iter().any(|said| said.as_str().unwrap().contains(words));
        assert!(found, "{to:?} {kind} {words:?}: {answer:#}");
        assert_eq!(answer["valid"], answer["errors"] == json!([]), "{answer:#}");
        if kind == "errors" {
            assert_eq!((&answer["valid"], &answer["can_enable"]), (&json!(false), &json!(false)), "{to:?}");
        }
    }
}

#[tokio::test]
async fn what_is_right_in_another_way_is_no_fault() {
    for (from, to) in [
        ("/usr/bin/app", "app"),
        ("/usr/bin/app", "@/usr/bin/app"),
        ("User=app", "User=900"),
        ("User=app", "DynamicUser=yes\nUser=anybody"),
        ("WorkingDirectory=/etc", "WorkingDirectory=-/none"),
        ("WorkingDirectory=/etc", "WorkingDirectory=~"),
        ("Restart=always", "Type=oneshot"),
        ("Requires=db.service", "Requires=db@%i.service"),
        ("[Unit]", "# nothing\n[X-Ours]\na=b\n[Unit]"),
    ] {
        let answer = judged(&GOOD.replace(from, to)).await;
        assert_eq!((&answer["errors"], &answer["warnings"]), (&json!([]), &json!([])), "{to:?}");
    }
}

#[tokio::test]
async fn what_systemd_says_counts() {
    let scene = Scene::busy().await;
    scene.systemd.put("off.service", FakeUnit { load: "masked", ..FakeUnit::inactive("") });
    let masked = scene.pi.call("service.validate_unit_file", json!({"service_name": "off"})).await.ok();
    assert_eq!(masked["errors"], json!(["off.service is masked: it cannot be started"]));
    let refusal = scene.pi.call("service.validate_unit_file", json!({"service_name": "none"})).await.refused();
    assert_eq!(refusal["error_code"], "not_found");
}

/// A good unit, and a systemd-analyze that says this and ends so.
async fn verified(said: &str, code: u8) -> (Value, String) {
    let scene = Scene::new().await;
    scene.tree.write(FILE.trim_start_matches('/'), GOOD);
    scene.tree.script("usr/bin/app", "true");
    scene.tree.write("etc/passwd", "app:x:900:900::/:/bin/false\n");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/systemd-analyze");
    scene.tree.link("usr/bin/systemd-analyze", program);
    scene.tree.write("usr/bin/verify.said", said).write("usr/bin/verify.code", code.to_string());
    scene.systemd.put("app.service", FakeUnit::inactive("App").text("FragmentPath", FILE));
    scene.systemd.put("db.service", FakeUnit::active("Database"));
    let answer = scene.pi.call("service.validate_unit_file", json!({"service_name": "app"})).await.ok();
    let args = std::fs::read_to_string(scene.tree.root().path("usr/bin/verify.args")).unwrap();
    (answer, args)
}

#[tokio::test]
async fn what_verify_says_is_said() {
    let (answer, args) = verified("", 0).await;
    assert_eq!((&answer["verify"], &answer["valid"]), (&json!("clean"), &json!(true)), "{answer}");
    assert_eq!(args, "verify\n--man=no\n--recursive-errors=no\n--\napp.service\n");
    let said = "<28>/etc/systemd/system/app.service:4: Unknown key 'Bogus' in section [Unit], ignoring.\n\
        <27>app.service: Command /usr/bin/app is not executable: password=hunter2\n\
        <27>app.service: Command /home/pi/app is not executable: No such file or directory\n\
        <27>other.service: Command /usr/bin/none is not executable: No such file or directory\n";
    let (answer, _) = verified(said, 1).await;
    assert_eq!(
        (&answer["verify"], &answer["valid"], &answer["can_enable"]),
        (&json!("findings"), &json!(false), &json!(false))
    );
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1, "{answer:#}");
    assert!(
        answer["errors"][0].as_str().unwrap().starts_with("verify: app.service: Command /usr/bin/app"),
        "{answer:#}"
    );
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 2, "{answer:#}");
    assert!(answer["warnings"][1].as_str().unwrap().ends_with("(seen by the server, which cannot look in there)"));
    assert!(!answer.to_string().contains("hunter2") && !answer.to_string().contains("other.service"), "{answer:#}");
}

#[tokio::test]
async fn a_verify_that_fails_or_says_too_much_is_no_verdict() {
    let (answer, _) = verified("systemd-analyze: unrecognized option '--recursive-errors=no'\n", 1).await;
    assert_eq!((&answer["verify"], &answer["valid"]), (&json!("not_run"), &json!(true)), "{answer:#}");
    assert!(answer["warnings"][0].as_str().unwrap().contains("unrecognized option"), "{answer:#}");
    let (answer, _) = verified(&"<28>app.service: again\n".repeat(10_000), 0).await;
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 64);
}
