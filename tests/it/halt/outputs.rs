//! What a halt does to outputs, by the setting.

use super::{halt, known, of};
use crate::support::{
    served::{Door, Pi},
    settings::allow_everything,
};
use contract::values::Pin;
use hw::line::Level;
use serde_json::json;

/// The levels of an output with a safe level and of one without, and who holds an input, before and after a halt.
async fn levels(safe_outputs: bool) -> [(Level, Option<String>, Option<String>); 2] {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.halt.safe_outputs = safe_outputs;
        settings.gpio.safe_low = [17].into();
    })
    .await;
    let lines = pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().gpio.clone();
    let pin = |number: u64| Pin::try_from(number).unwrap();
    let look = || (lines.level(pin(17)), lines.consumer(pin(22)), lines.consumer(pin(27)));
    let mut wire = pi.on(Door::Stdio).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
    wire.call("gpio.write_pin", json!({"pin": 22, "value": "high"})).await.ok();
    wire.call("gpio.configure_pin", json!({"pin": 27, "mode": "input"})).await.ok();
    let before = look();
    halt(&of(&pi)).await;
    known(&pi, true).await;
    // The change is known before its effects: a call after it comes after them.
    wire.call("system.get_clock", json!({})).await.ok();
    let after = look();
    // Released all the same, whatever the setting.
    wire.call("gpio.release_pin", json!({"pin": 27})).await.ok();
    [before, after]
}

#[tokio::test]
async fn outputs_stay_unless_the_owner_wants_them_safe() {
    let held = Some("raspi-mcp".to_owned());
    let driven = (Level::High, held.clone(), held.clone());
    assert_eq!(levels(false).await, [driven.clone(), driven.clone()]);
    assert_eq!(levels(true).await, [driven, (Level::Low, None, held)], "safe, let go, and the input stays");
}
