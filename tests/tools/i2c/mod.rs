//! `i2c.*` on a simulated board: buses, devices, and everything that goes wrong on a wire.

mod allow;
mod bounds;
mod faults;
mod identify;
mod queue;
mod scan;
mod transfers;

use crate::support::served::{Door, Pi, Wire};
use contract::config::Settings;
use hw::i2c::simulated::Buses;
use serde_json::{Value, json};

/// A server whose I2C tools are all on, the hand that moves what is on its buses, and a conversation.
struct Scene {
    wire: Wire,
    buses: Buses,
    pi: Pi,
}

impl Scene {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let pi = Pi::standard(|settings| {
            settings.tools.enable.insert("i2c".into());
            settings.limits.writes_per_minute = 10_000;
            change(settings);
        })
        .await;
        let buses =
            pi.server().pipeline.services.machine.board.simulated.as_ref().expect("it is simulated").i2c.clone();
        Self { wire: pi.on(Door::Stdio).await, buses, pi }
    }

    async fn ok(&mut self, tool: &str, args: Value) -> Value {
        self.wire.call(tool, args).await.ok().clone()
    }

    async fn failed(&mut self, tool: &str, args: Value, code: &str) -> Value {
        self.wire.call(tool, args).await.failed(code).clone()
    }
}

#[tokio::test]
async fn the_buses_are_listed_with_what_may_be_done_on_them() {
    let mut scene = Scene::new().await;
    let answer = scene.wire.call("i2c.list_buses", json!({})).await;
    assert_eq!(answer.meta()["simulated"], true);
    let listed = answer.ok();
    let [bus] = listed["buses"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&bus["bus"], &bus["description"]), (&json!(1), &json!("bcm2835 (i2c@7e804000)")));
    assert_eq!(bus["header"], json!({"sda": 2, "scl": 3, "purpose": "devices on the header"}));
    assert_eq!(bus["functionality"][0], "i2c");
    assert_eq!(bus["in_use"], json!([{"address": 0x68, "driver": "rtc-ds1307", "device": "ds3231"}]));
    assert_eq!((&bus["allowed"], &bus["readable"]), (&json!(true), &json!(["0x08-0x77"])));
    assert!(scene.buses.touched(1).is_empty(), "nothing moved on the bus");
    assert!(bus.get("problem").is_none() && listed.get("hint").is_none());
}

#[tokio::test]
async fn capabilities_name_the_simulated_bus() {
    let mut scene = Scene::new().await;
    let capabilities = scene.ok("system.get_capabilities", json!({})).await;
    assert_eq!(capabilities["modules"]["i2c"]["devices"], json!(["/dev/i2c-1 (bcm2835 (i2c@7e804000))"]));
}
