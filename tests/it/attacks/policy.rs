//! `[policy] "camera.capture" = "ask"` is about pictures, whichever tool, spelling or door takes them; so is every other line.

use crate::support::{
    camera::{CARD, enabled, folder},
    served::{Answer, Pi},
};
use agent::operations as op;
use contract::{
    config::Settings,
    meta::{Mode, Role},
};
use serde_json::{Value, json};

fn says(name: &'static str, mode: Mode) -> impl FnOnce(&mut Settings) {
    move |settings| {
        enabled(settings);
        settings.tools.enable.extend(["service".into(), "i2c".into(), "manage".into(), "system".into()]);
        settings.access.stdio_role = Role::Admin;
        settings.access.loopback_role = Role::Admin;
        settings.approval.wait_seconds = 0;
        settings.policy.insert(name.into(), mode);
    }
}

/// Photos that were kept.
fn kept(pi: &Pi) -> usize {
    std::fs::read_dir(folder(pi)).map_or(0, |files| {
        files.flatten().filter(|file| file.path().extension().is_some_and(|end| end == "jpg" || end == "png")).count()
    })
}

#[track_caller]
fn refusal(answer: &Answer) -> &Value {
    let error = answer.failed("permission_denied");
    assert!(error["details"]["decided_by"].as_str().unwrap().starts_with("policy.\"camera"), "{error}");
    error
}

/// Every spelling of both tools that take a picture.
fn spellings() -> Vec<String> {
    let names = ["camera.capture", "camera.take_photo"];
    names
        .iter()
        .flat_map(|name| [name.to_string(), format!("{name}@1"), name.replace('.', "_"), name.replace('.', "/")])
        .collect()
}

#[tokio::test]
async fn nobody_takes_a_picture_where_taking_one_is_denied() {
    for name in ["camera.capture", "camera.take_photo", "camera:capture"] {
        let pi = Pi::standard(says(name, Mode::Deny)).await;
        for mut wire in pi.every_door().await {
            for spelling in spellings() {
                let called = wire.call(&spelling, json!({"camera": CARD})).await;
                // A slash is for bare methods.
                let said = if spelling.contains('/') { called.message.clone() } else { refusal(&called).clone() };
                assert!(said.to_string().contains("camera"), "{name} {spelling} {:?}: {said}", wire.door);
                let bare = wire.request(&spelling, json!({"camera": CARD})).await.message;
                assert!(bare.get("result").is_none(), "{name} {spelling} {:?}: {bare}", wire.door);
            }
        }
        assert_eq!(kept(&pi), 0, "{name}");
    }
}

#[tokio::test]
async fn a_person_is_asked_about_every_picture_where_one_line_says_so() {
    for name in ["camera.capture", "camera.take_photo", "camera:capture"] {
        let pi = Pi::standard(says(name, Mode::Ask)).await;
        for tool in ["camera.capture", "camera.take_photo", "camera_take_photo", "camera.take_photo@1"] {
            let asked = pi.call(tool, json!({"camera": CARD})).await;
            assert!(asked.failed("failed_precondition")["details"]["ask_id"].is_string(), "{name} {tool}");
        }
        let asks = pi.server().pipeline.services.agent.get::<op::asks::ListAsks>().await.unwrap();
        assert_eq!(asks.len(), 2, "one for each tool");
        assert_eq!((kept(&pi), &asks[0].request.args), (0, &json!({"camera": CARD})));
    }
}

/// A tool, its arguments, and whether the call goes through.
type Tried = (&'static str, Value, bool);

#[tokio::test]
async fn a_deed_that_is_denied_is_denied_by_every_tool_that_does_it_and_nothing_else_is() {
    let web = |action: &str| json!({"service_name": "web", "action": action});
    let dry = |action: &str| json!({"service_name": "web", "action": action, "dry_run": true});
    let name = json!({"service_name": "web"});
    let cases: [(&'static str, Vec<Tried>); 5] = [
        (
            "service.restart",
            vec![
                ("service.restart", name.clone(), false),
                ("service.control_service", web("restart"), false),
                ("service.control_service", dry("restart"), false),
                ("service.control_service", dry("stop"), true),
                ("service.stop", name.clone(), true),
            ],
        ),
        (
            "service.control_service",
            vec![
                ("service.start", name.clone(), false),
                ("service.stop", name.clone(), false),
                ("service.restart", name.clone(), false),
            ],
        ),
        (
            "service.start",
            vec![
                ("service.control_service", web("start"), false),
                ("service.restart", name.clone(), false),
                ("service.control_service", web("restart"), false),
                ("service.stop", name.clone(), true),
            ],
        ),
        (
            "i2c.write",
            vec![
                ("i2c.transfer", json!({"bus": 1, "address": 80, "data": [0], "length": 1}), false),
                ("i2c.write", json!({"bus": 1, "address": 80, "data": [0, 1]}), false),
            ],
        ),
        (
            "system.reboot",
            vec![
                ("manage.rollback", json!({}), false),
                ("manage.rollback", json!({"dry_run": true}), false),
                ("manage.update_server", json!({}), false),
                ("system.reboot", json!({"delay_seconds": 60}), false),
            ],
        ),
    ];
    for (word, calls) in cases {
        let pi = Pi::standard(says(word, Mode::Deny)).await;
        for (tool, args, runs) in calls {
            let answer = pi.call(tool, args.clone()).await;
            assert_eq!(!answer.is_refusal("permission_denied"), runs, "{word}: {tool} {args}: {answer:?}");
        }
    }
}
