//! Whoever would like to be the finger on the approval button: callers of tools, and the configuration of the half that talks
//! to the network. And the finger itself, through all of both halves.

use crate::support::served::{Door, Pi, Wire, soon};
use contract::{config::Settings, meta::Role, values::Pin};
use hw::{gpio::SimulatedGpio, line::Level};
use serde_json::{Value, json};
use std::time::Duration;

const BUTTON: u8 = 17;
const LED: u8 = 27;

fn pin(number: u8) -> Pin {
    Pin::try_from(u64::from(number)).unwrap()
}

/// A server with everything on, a button and an LED, and the board.
async fn board(change: impl FnOnce(&mut Settings)) -> (Pi, SimulatedGpio) {
    let pi = Pi::standard(|settings| {
        settings.tools.enable.extend(["gpio".into(), "system".into()]);
        settings.access.loopback_role = Role::Admin;
        (settings.approval.button_pin, settings.approval.led_pin) = (BUTTON, LED);
        change(settings);
    })
    .await;
    let lines = pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().gpio.clone();
    (pi, lines)
}

fn is_the_agents(lines: &SimulatedGpio) -> bool {
    let name = |number| lines.consumer(pin(number)).unwrap_or_default();
    name(BUTTON) == "raspi-mcp approval button" && name(LED) == "raspi-mcp approval LED"
}

async fn listed(wire: &mut Wire, args: Value) -> Vec<Value> {
    let list = wire.call("gpio.list_pins", args).await;
    list.ok()["pins"].as_array().unwrap().iter().map(|entry| entry["pin"].clone()).collect()
}

#[tokio::test]
async fn no_gpio_tool_sees_or_takes_the_agents_lines() {
    // Also where somebody wrote that they may: the loader refuses that, and nothing here relies on it.
    let (pi, lines) = board(|settings| {
        settings.gpio.allow = (0..=27).collect();
        settings.gpio.safe_high = [BUTTON, LED].into();
    })
    .await;
    assert!(is_the_agents(&lines));
    for door in [Door::Stdio, Door::Http, Door::Unix] {
        let mut wire = pi.on(door).await;
        for args in [json!({}), json!({"all": true})] {
            let pins = listed(&mut wire, args).await;
            assert!(pins.len() >= 24 && !pins.contains(&json!(BUTTON)) && !pins.contains(&json!(LED)), "{pins:?}");
        }
        for number in [BUTTON, LED] {
            for (tool, args) in [
                ("gpio.read_pin", json!({"pin": number})),
                ("gpio.write_pin", json!({"pin": number, "value": "low"})),
                ("gpio.write_pin", json!({"pin": number, "value": "low", "duration_ms": 3000})),
                ("gpio.configure_pin", json!({"pin": number, "mode": "output"})),
                ("gpio.configure_pin", json!({"pin": number, "mode": "input", "pull": "down"})),
                ("gpio.wait_for_edge", json!({"pin": number, "timeout_ms": 1})),
                ("gpio.set_pwm", json!({"pin": number, "frequency_hz": 1, "duty_cycle_percent": 50})),
                ("gpio.release_pin", json!({"pin": number})),
                ("gpio.release_pin", json!({"pin": number, "force": true})),
            ] {
                wire.call(tool, args).await.failed("permission_denied");
            }
            let read = wire.request("resources/read", json!({"uri": format!("raspi://gpio/{number}")})).await;
            assert!(read.message.get("result").is_none(), "{door:?}: {read:?}");
        }
    }
    assert!(is_the_agents(&lines));
    assert_eq!((lines.level(pin(BUTTON)), lines.level(pin(LED))), (Level::High, Level::Low));
}

#[tokio::test]
async fn the_button_belongs_to_the_agent_until_it_stops() {
    let (pi, lines) = board(|_| {}).await;
    // The kernel's word to any other process.
    let refused = lines.hold(pin(BUTTON), "somebody").err().map(|fault| fault.to_string());
    assert_eq!(refused.as_deref(), Some("it is held by raspi-mcp approval button"));
    pi.stop().await.unwrap();
    soon(async {
        while lines.held() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(lines.level(pin(LED)), Level::Low);
}

#[tokio::test]
async fn a_finger_approves_the_one_call_that_waits_and_the_audit_says_so() {
    let (pi, lines) = board(|settings| settings.approval.wait_seconds = 20).await;
    lines.drive(pin(BUTTON), Some(Level::High));
    let mut wire = pi.on(Door::Stdio).await;
    let id = wire.ask("system.reboot", json!({"delay_seconds": 600}));
    soon(async {
        while lines.level(pin(LED)) == Level::Low {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // A press that soon after the start could be a bounce.
    tokio::time::sleep(Duration::from_millis(60)).await;
    lines.drive(pin(BUTTON), Some(Level::Low));
    tokio::time::sleep(Duration::from_millis(2400)).await;
    lines.drive(pin(BUTTON), Some(Level::High));
    let answer = wire.answer_to(id).await;
    assert_eq!(answer.result()["scheduled"], true, "{}", answer.result());
    let record = pi.audited(|record| record["tool"] == "system.reboot").await;
    assert_eq!(
        (&record["approval"]["by"], &record["approval"]["how"]),
        (&json!("the button on GPIO 17"), &json!("button")),
        "{record}"
    );
    wire.call("system.reboot", json!({"cancel": true})).await.ok();
}
