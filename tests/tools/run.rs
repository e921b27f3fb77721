//! `tools.run` and `tools.run_read`: a call through them is in every respect a call of the tool that they name.

use crate::support::{
    served::{Door, Pi},
    settings::allow_everything,
};
use contract::{
    access::caller::{Caller, Transport as In},
    meta::{Mode, Role},
};
use serde_json::{Value, json};

fn named(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

#[tokio::test]
async fn the_named_tool_answers_in_every_form_and_is_what_the_audit_has() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for arguments in [json!({"text": "hello"}), json!("{\"text\": \"hello\"}"), json!(" {\"text\":\"hello\"} ")] {
            for through in ["tools.run_read", "tools_run_read", "tools.run", "tools_run@1"] {
                for name in ["test.echo", "test_echo", "test/echo", "test.echo@1"] {
                    let answer = wire.call(through, named(name, arguments.clone())).await;
                    assert_eq!(answer.ok()["text"], "hello", "{through} {name}");
                }
                let bare = wire.request(through, named("test.echo", arguments.clone())).await;
                assert_eq!(*bare.result(), json!({"text": "hello"}));
            }
        }
        for none in [json!({"name": "test.echo"}), named("test.echo", Value::Null), named("test.echo", json!(""))] {
            assert_eq!(wire.call("tools.run_read", none).await.ok()["text"], "");
        }
    }
    let records = pi.audit().await;
    assert!(!records.is_empty() && records.iter().all(|record| record["tool"] == "test.echo"), "{records:#?}");
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    let pi = Pi::standard(allow_everything).await;
    for mut wire in pi.on_all(&[Door::Stdio, Door::Unix]).await {
        let unknown = wire.call("tools.run", named("gpio.write_pim", json!({}))).await;
        let error = unknown.failed("not_found");
        assert!(error["message"].as_str().unwrap().contains("did you mean gpio.write_pin?"), "{error}");
        let version = wire.call("tools.run", named("gpio.write_pin@7", json!({}))).await;
        assert!(version.failed("not_found")["message"].as_str().unwrap().contains("gpio.write_pin@1"));
        for inner in ["tools.run", "tools.run_read", "tools_run"] {
            let nested = named(inner, named("system.get_clock", json!({})));
            for through in ["tools.run", "tools.run_read"] {
                wire.call(through, nested.clone()).await.refused("/name");
            }
        }
        let write = wire.call("tools.run_read", named("gpio.write_pin", json!({"pin": 17, "value": "high"}))).await;
        let error = write.refused("/name");
        assert!(error["hint"].as_str().unwrap().contains("tools.run"), "{error}");
        wire.call("tools.run", named("system.get_clock", json!("[1]"))).await.refused("/arguments");
        wire.call("tools.run", named("system.get_clock", json!("{"))).await.refused("/arguments");
        wire.call("tools.run", named("system.get_clock", json!(7))).await.refused("/arguments");
        wire.call("tools.run", json!({"arguments": {}})).await.failed("invalid_argument");
        wire.call("tools.run", json!({"name": "gpio.read_pin", "pin": 17})).await.failed("invalid_argument");
        // The refusal of the tool itself, about its own arguments.
        let inner = wire.call("tools.run", named("gpio.write_pin", json!({"pin": 99, "value": "high"}))).await;
        inner.refused("/pin");
    }
}

#[tokio::test]
async fn role_namespace_policy_and_approval_are_those_of_the_named_tool() {
    let pi = Pi::standard(|settings| {
        settings.tools.enable.extend(["gpio".to_owned()]);
        settings.gpio.allow = [17].into();
        settings.policy.insert("gpio.set_pwm".into(), Mode::Deny);
        settings.policy.insert("gpio.write_pin".into(), Mode::Ask);
        settings.approval.wait_seconds = 0;
    })
    .await;
    let high = json!({"pin": 17, "value": "high"});
    let mut reader = pi.stdio(Caller::new("reader", Role::ReadOnly, In::Stdio));
    let refusal = reader.call("tools.run", named("gpio.write_pin", high.clone())).await;
    assert_eq!(refusal.failed("permission_denied")["details"]["required_role"], "ops_rw");
    let mut operator = pi.stdio(Caller::new("operator", Role::OpsRw, In::Stdio));
    let off = operator.call("tools.run", named("service.restart", json!({"service_name": "web"}))).await;
    assert_eq!(off.failed("permission_denied")["details"]["tool"], "service.restart");
    let pwm = json!({"pin": 17, "frequency_hz": 50, "duty_cycle_percent": 5});
    operator.call("tools.run", named("gpio.set_pwm", pwm)).await.failed("permission_denied");

    // Asked for through the one way, approved, and found again through the other: it is one and the same call.
    let asked = operator.call("tools.run", named("gpio.write_pin", high.clone())).await;
    let first = asked.failed("failed_precondition")["details"]["ask_id"].clone();
    let again = operator.call("gpio.write_pin", high.clone()).await;
    assert_eq!(again.failed("failed_precondition")["details"]["ask_id"], first);
    let records = pi.audit().await;
    assert!(records.iter().all(|record| record["tool"] != "tools.run"), "{records:#?}");
}

#[tokio::test]
async fn switched_off_it_runs_nothing() {
    for (how, off) in [("disable", true), ("policy", false)] {
        let pi = Pi::standard(|settings| {
            if off {
                settings.tools.disable.insert("tools.run".into());
            } else {
                settings.policy.insert("tools.run".into(), Mode::Deny);
            }
        })
        .await;
        let mut wire = pi.on(Door::Stdio).await;
        let refusal = wire.call("tools.run", named("system.get_clock", json!({}))).await;
        assert_eq!(refusal.failed("permission_denied")["details"]["tool"], "tools.run", "{how}");
        wire.call("tools.run_read", named("system.get_clock", json!({}))).await.ok();
    }
}

#[tokio::test]
async fn the_rate_is_that_of_the_named_tool() {
    let pi = Pi::with(|settings| settings.limits.reads_per_minute = 5).await;
    let mut wire = pi.on(Door::Stdio).await;
    for n in 0..5 {
        let through = ["tools.run_read", "tools.run"][n % 2];
        wire.call(through, named("test.echo", json!({}))).await.ok();
    }
    let refusal = wire.call("test.echo", json!({})).await;
    assert_eq!(refusal.failed("resource_exhausted")["details"]["tool"], "test.echo");
}

/// A call that cannot be unwrapped is recorded as one of `tools.run`, with the same care for secrets.
#[tokio::test]
async fn no_secret_in_the_arguments_of_a_call_that_fails_gets_into_the_audit() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for arguments in [
        json!({"password": "hunter2"}),
        json!("{\"password\": \"hunter2\"}"),
        json!("{\"password\": \"hunter2\""),
        json!("[\"hunter2\"]"),
    ] {
        for through in ["tools.run", "tools.run_read"] {
            wire.call(through, named("network.no_such_tool", arguments.clone())).await.error();
        }
    }
    let records = pi.audit().await;
    assert_eq!(records.iter().filter(|record| record["tool"].as_str().unwrap().starts_with("tools.run")).count(), 8);
    assert!(!json!(records).to_string().contains("hunter2"), "{records:#?}");
    assert!(json!(records).to_string().contains("no_such_tool"), "{records:#?}");
}
