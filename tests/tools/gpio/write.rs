//! Writing, reading, configuring: what is answered, and what the line does.

use super::{board, board_with, pin, stdio};
use crate::support::served::Door;
use hw::line::Level;
use serde_json::json;

#[tokio::test]
async fn a_value_is_answered_in_the_form_it_was_given() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    for (given, level) in
        [(json!(1), Level::High), (json!("low"), Level::Low), (json!("high"), Level::High), (json!(0), Level::Low)]
    {
        let answer = wire.call("gpio.write_pin", json!({ "pin": 17, "value": given })).await;
        assert_eq!((&answer.ok()["pin"], &answer.ok()["value"]), (&json!(17), &given));
        assert!(answer.ok()["timestamp"].is_string());
        assert_eq!((answer.meta()["simulated"].clone(), answer.meta()["changed"].clone()), (json!(true), json!(true)));
        assert_eq!(lines.level(pin(17)), level);
    }
    let answer = wire.call("gpio.write_pin", json!({ "pin": 17, "value": 1 })).await;
    assert_eq!(answer.ok()["previous_value"], json!(0));
    // The bare method is the same call (docs/contract/README.md).
    let bare = wire.request("gpio.write_pin", json!({ "pin": 17, "value": 1 })).await;
    assert_eq!(bare.result()["value"], json!(1));
}

#[tokio::test]
async fn what_is_no_value_pin_or_time_changes_nothing() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    for (args, at) in [
        (json!({"pin": 17, "value": 2}), "/value"),
        (json!({"pin": 17, "value": true}), "/value"),
        (json!({"pin": 17, "value": "HIGH"}), "/value"),
        (json!({"pin": 17, "value": null}), "/value"),
        (json!({"pin": 28, "value": 1}), "/pin"),
        (json!({"pin": -1, "value": 1}), "/pin"),
        (json!({"pin": "17", "value": 1}), "/pin"),
        (json!({"pin": 17.5, "value": 1}), "/pin"),
        (json!({"pin": 17, "value": 1, "duration_ms": 0}), "/duration_ms"),
        (json!({"pin": 17, "value": 1, "duration_ms": 600_001}), "/duration_ms"),
        (json!({"pin": 17, "value": 1, "lease_seconds": 3601}), "/lease_seconds"),
    ] {
        wire.call("gpio.write_pin", args).await.refused(at);
    }
    wire.call("gpio.configure_pin", json!({"pin": 17, "mode": "input", "value": 1})).await.failed("invalid_argument");
    wire.call("gpio.configure_pin", json!({"pin": 17, "mode": "output", "pull": "up"}))
        .await
        .failed("invalid_argument");
    assert_eq!(lines.held(), 0);
}

#[tokio::test]
async fn a_configured_pin_is_what_was_asked_for() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    let up = wire.call("gpio.configure_pin", json!({"pin": 22, "mode": "input", "pull": "up"})).await;
    assert_eq!(up.ok()["mode"], "input");
    assert_eq!((&up.ok()["value"], &up.ok()["pull"], &up.ok()["header"]), (&json!("high"), &json!("up"), &json!(15)));
    assert_eq!((&up.ok()["lease"]["yours"], &up.ok()["lease"]["principal"]), (&json!(true), &json!("stdio")));
    // Without a time of its own it lasts as long as the connection.
    assert!(up.ok()["lease"].get("expires_at").is_none());
    lines.drive(pin(22), Some(Level::Low));
    assert_eq!(wire.call("gpio.read_pin", json!({"pin": 22})).await.ok()["value"], "low");
    // An input is not driven by mistake.
    let refused = wire.call("gpio.write_pin", json!({"pin": 22, "value": "high"})).await;
    assert!(refused.failed("failed_precondition")["hint"].as_str().unwrap().contains("configure_pin"));
    // It is made an output on purpose, at the level that was asked for.
    let out = wire.call("gpio.configure_pin", json!({"pin": 22, "mode": "output", "value": 1})).await;
    assert_eq!((&out.ok()["mode"], &out.ok()["value"]), (&json!("output"), &json!("high")));
    assert_eq!(lines.level(pin(22)), Level::High);
}

#[tokio::test]
async fn the_list_holds_the_allowed_pins_and_on_request_all() {
    let (pi, _) = board_with(|settings| settings.gpio.allow = [17, 27].into()).await;
    let mut wire = stdio(&pi).await;
    let listed = wire.call("gpio.list_pins", json!({})).await;
    let numbers: Vec<u64> =
        listed.ok()["pins"].as_array().unwrap().iter().map(|pin| pin["pin"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [17, 27]);
    let all = wire.call("gpio.list_pins", json!({"all": true})).await;
    let pins = all.ok()["pins"].as_array().unwrap();
    assert_eq!((pins.len(), &pins[4]["allowed"], &pins[17]["allowed"]), (28, &json!(false), &json!(true)));
    assert_eq!(all.meta()["simulated"], true);
}

#[tokio::test]
async fn where_none_is_allowed_the_list_says_how_to_allow_one() {
    // The one that is named belongs to the agent.
    let (pi, _) = board_with(|settings| {
        settings.gpio.allow = [17].into();
        settings.approval.button_pin = 17;
    })
    .await;
    let mut wire = stdio(&pi).await;
    let listed = wire.call("gpio.list_pins", json!({})).await;
    assert_eq!(listed.ok()["pins"], json!([]));
    assert!(listed.ok()["note"].as_str().unwrap().contains("gpio.allow"));
    let all = wire.call("gpio.list_pins", json!({"all": true})).await;
    assert!(all.ok().get("note").is_none());
}

#[tokio::test]
async fn pins_outside_the_list_reserved_ones_and_those_of_others_are_refused_at_every_door() {
    let (pi, lines) = board_with(|settings| settings.gpio.allow = [17].into()).await;
    let held = lines.hold(pin(17), "fan-control").unwrap();
    for mut wire in pi.every_door().await {
        for (tool, verb, more) in [
            ("gpio.read_pin", "read", json!({})),
            ("gpio.wait_for_edge", "read", json!({})),
            ("gpio.write_pin", "write", json!({"value": 1})),
            ("gpio.configure_pin", "write", json!({"mode": "output"})),
            ("gpio.release_pin", "write", json!({})),
        ] {
            for number in [18, 0, 1] {
                let mut args = more.clone();
                args["pin"] = number.into();
                let answer = wire.call(tool, args).await;
                let refused = answer.failed("permission_denied");
                assert_eq!(refused["details"]["required_permission"], format!("gpio:{verb}:{number}"));
                assert_eq!(refused["details"]["pin"], number);
            }
        }
        let busy = wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await;
        assert_eq!(busy.failed("failed_precondition")["details"]["consumer"], "fan-control");
    }
    drop(held);
    assert_eq!(lines.held(), 0);
    pi.on(Door::Stdio).await.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
}

#[tokio::test]
async fn a_broken_chip_is_said_and_heals() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 5, "value": 1})).await.ok();
    lines.fail(Some("Input/output error"));
    for (tool, args) in [
        ("gpio.write_pin", json!({"pin": 5, "value": 0})),
        ("gpio.read_pin", json!({"pin": 6})),
        ("gpio.list_pins", json!({})),
        ("gpio.wait_for_edge", json!({"pin": 6})),
    ] {
        let answer = wire.call(tool, args).await;
        assert!(answer.failed("unavailable")["message"].as_str().unwrap().contains("Input/output error"), "{tool}");
    }
    lines.fail(None);
    assert_eq!(lines.level(pin(5)), Level::High);
    wire.call("gpio.write_pin", json!({"pin": 5, "value": 0})).await.ok();
    assert_eq!(lines.level(pin(5)), Level::Low);
}
