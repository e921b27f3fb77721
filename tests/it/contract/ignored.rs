//! Accepted and ignored is forbidden (docs/contract/README.md).

use crate::support::served::{Door, Pi};
use crate::support::settings::allow_everything;
use serde_json::{Value, json};

fn with(mut args: Value, more: &Value) -> Value {
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

/// A tool, arguments beside which something means nothing, that thing, what it may be nevertheless, and the arguments beside
/// which it does mean something (`None`: nowhere here).
fn cases() -> Vec<(&'static str, Value, Value, Value, Option<Value>)> {
    let network = "system.get_detailed_network_info";
    let control = |action: &str| json!({"service_name": "web", "action": action, "dry_run": true});
    let enable = |enabled: bool| json!({"service_name": "web", "enabled": enabled, "dry_run": true});
    let both = json!({"force": true, "confirm_breaking_dependencies": true});
    let neither = json!({"force": false, "confirm_breaking_dependencies": false});
    let picture = |format: &str| json!({"width": 64, "height": 64, "format": format});
    let mut cases = vec![
        (
            network,
            json!({}),
            json!({"connection_state_filter": ["LISTEN"]}),
            json!({"connection_state_filter": []}),
            Some(json!({"include_connections": true})),
        ),
        (
            network,
            json!({"include_routing_table": true}),
            json!({"limit": 5}),
            json!({"limit": 100}),
            Some(json!({"include_connections": true})),
        ),
        (
            network,
            json!({"include_connections": false}),
            json!({"offset": 1}),
            json!({"offset": 0}),
            Some(json!({"include_connections": true})),
        ),
        ("camera.capture", picture("png"), json!({"quality": 90}), json!({"quality": 85}), Some(picture("jpeg"))),
        ("system.reboot", json!({"cancel": true}), json!({"delay_seconds": 60}), json!({"delay_seconds": 5}), None),
        ("system.shutdown", json!({"cancel": true}), json!({"delay_seconds": 0}), json!({"delay_seconds": 5}), None),
        ("service.set_enabled", enable(true), both.clone(), neither.clone(), Some(enable(false))),
        (
            "gpio.configure_pin",
            json!({"pin": 17, "mode": "input"}),
            json!({"value": "high"}),
            json!({"value": "low"}),
            Some(json!({"pin": 17, "mode": "output"})),
        ),
        ("gpio.configure_pin", json!({"pin": 17, "mode": "input"}), json!({"value": 1}), json!({"value": 0}), None),
        (
            "gpio.configure_pin",
            json!({"pin": 17, "mode": "output"}),
            json!({"pull": "up"}),
            json!({"pull": "none"}),
            Some(json!({"pin": 17, "mode": "input"})),
        ),
        (
            "files.write",
            json!({"path": "b", "content_base64": "", "dry_run": true}),
            json!({"encoding": "ascii"}),
            json!({"encoding": "utf-8"}),
            Some(json!({"path": "b", "content": "", "dry_run": true})),
        ),
        (
            "files.write",
            json!({"path": "b", "content": "", "mode": "append", "dry_run": true}),
            json!({"create": false}),
            json!({"create": true}),
            None,
        ),
        (
            "files.write",
            json!({"path": "b", "content": "", "mode": "create_new", "dry_run": true}),
            json!({"overwrite": true}),
            json!({}),
            None,
        ),
    ];
    for action in ["start", "restart"] {
        cases.push(("service.control_service", control(action), both.clone(), neither.clone(), Some(control("stop"))));
    }
    let lone = json!({"confirm_breaking_dependencies": true});
    cases.push(("service.control_service", control("start"), lone, neither, None));
    cases
}

#[tokio::test]
async fn an_argument_that_would_be_ignored_is_refused_and_named() {
    let pi = Pi::standard(allow_everything).await;
    let mut wire = pi.on(Door::Stdio).await;
    for (tool, base, more, none, elsewhere) in cases() {
        let answer = wire.call(tool, with(base.clone(), &more)).await;
        let error = answer.failed("invalid_argument");
        let named = error["details"]["parameter"].as_str().unwrap();
        assert!(more.get(named).is_some(), "{tool} {more}: {error}");
        assert_eq!(error["details"]["path"], format!("/{named}"), "{tool}");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains(named)), "{tool}: {error}");
        // The bare method says the same.
        let bare = wire.request(tool, with(base.clone(), &more)).await;
        assert_eq!(bare.fault(-32602)["data"]["details"]["path"], format!("/{named}"), "{tool}");
        // Its default, or null, is no argument.
        let nulls: Value = more.as_object().unwrap().keys().map(|name| (name.clone(), Value::Null)).collect();
        for absent in [&none, &nulls] {
            wire.call(tool, with(base.clone(), absent)).await.ok();
        }
        // And where it means something, it is taken.
        if let Some(elsewhere) = elsewhere {
            wire.call(tool, with(elsewhere, &more)).await.ok();
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_whose_arguments_do_not_fit_each_other() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.policy.insert("system.reboot".into(), contract::meta::Mode::Ask);
        settings.policy.insert("camera.capture".into(), contract::meta::Mode::Ask);
        settings.approval.wait_seconds = 1;
    })
    .await;
    pi.call("camera.capture", json!({"format": "png", "quality": 3})).await.failed("invalid_argument");
    pi.call("camera.capture", json!({"format": "png"})).await.failed("failed_precondition");
}
