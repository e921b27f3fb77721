//! `fleet serve`: one endpoint for an assistant, over the real broker.

use super::{
    Fleet, Served,
    device::{Joined, NAME},
};
use crate::{notifications::receiver::Receiver, support::served::soon};
use base::clock::Wall;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, time::Duration};
use tempfile::TempDir;

impl Served {
    /// Calls until the answer is as wanted.
    async fn becomes(&mut self, tool: &str, args: Value, is_it: impl Fn(&Value) -> bool) -> Value {
        soon(async {
            loop {
                let answer = self.wire.call(tool, args.clone()).await;
                if is_it(answer.ok()) {
                    return answer.ok().clone();
                }
                // Within the limit of calls.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        })
        .await
    }
}

#[tokio::test]
async fn the_fleet_is_summed_up_listed_and_halted_and_a_new_device_is_known() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    fleet.clients[1].device.differs =
        json!({ "healthy": false, "problems": ["the camera is dark"], "version": "1.9.0" });
    fleet.report().await;
    let mut served = Served::of(&fleet.home, fleet.desk.path(), "");
    let summary = served.wire.call("fleet.get_summary", json!({})).await;
    let summary = summary.ok();
    assert_eq!(summary["health_breakdown"], json!({ "good": 1, "wrong": 1, "unknown": 0, "silent": 0 }), "{summary}");
    assert_eq!(summary["versions"], json!({ "1.9.0": 1, "2.1.0": 1 }));
    let listed = served.wire.call("fleet.list_devices", json!({ "health": "wrong" })).await;
    let device = &listed.ok()["devices"][0];
    assert_eq!((&device["name"], &device["problems"]), (&json!("shed"), &json!(["the camera is dark"])));
    assert_eq!((&device["simulated"], device["heard_at"].is_string()), (&json!(true), true));
    // A status that comes while it serves, and a device that is signed.
    fleet.clients[1].device.differs = json!({});
    fleet.clients[1].reports().await;
    served
        .becomes("fleet.list_devices", json!({ "health": "good" }), |list| {
            list["devices"].as_array().unwrap().len() == 2
        })
        .await;
    fleet.desk.enrolls("cellar", &["home"]);
    let list =
        served.becomes("fleet.list_devices", json!({ "tag": "home" }), |list| list["devices"][0].is_object()).await;
    assert_eq!((&list["devices"][0]["health"], &list["devices"][0]["version"]), (&json!("silent"), &Value::Null));
    // Two devices hear it.
    let (mut first, mut second) = (fleet.clients.remove(0), fleet.clients.remove(0));
    let follow = tokio::spawn(async move { (first.follows().await, second.follows().await, first, second) });
    let halted = served.wire.call("fleet.halt", json!({ "devices": ["attic", "shed"], "reason": "smoke" })).await;
    assert_eq!(halted.ok(), &json!({ "confirmed": ["attic", "shed"], "open": [] }));
    let (reason, other, ..) = soon(follow).await.unwrap();
    assert_eq!((reason.as_deref(), other.as_deref()), (Some("smoke"), Some("smoke")));
    served
        .wire
        .call("fleet.call", json!({ "device": "attic", "tool": "system.get_clock" }))
        .await
        .failed("permission_denied");
}

#[tokio::test]
async fn a_call_has_the_callers_token_and_the_device_decides() {
    let joined = Joined::start().await;
    joined.status(|_| true).await;
    let dir = joined.desk.path();
    fs::write(dir.join("serve.toml"), "[[callers]]\nname = \"stdio\"\ntokens = \"tokens\"\n").unwrap();
    fs::create_dir(dir.join("tokens")).unwrap();
    let (token, home) = (dir.join("tokens").join(NAME), TempDir::new().unwrap());
    let writes = |text: &str| {
        fs::write(&token, text).unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    };
    let mut served = Served::of(&home, dir, "");
    let call = |tool: &str, arguments: &str| json!({ "device": NAME, "tool": tool, "arguments": arguments });
    let missing = served.wire.call("fleet.call", call("system.get_clock", "{}")).await;
    assert!(missing.failed("permission_denied")["message"].as_str().unwrap().contains("this file is missing"));
    writes(&joined.device.token);
    let answer = served.wire.call("fleet.call", call("system.get_clock", "{}")).await;
    assert!(answer.ok()["result"]["utc"].is_string() || answer.ok()["result"].is_object(), "{:?}", answer.ok());
    assert_eq!(&answer.meta()["changed"], &json!(false));
    let refused = served.wire.call("fleet.call", call("gpio.write_pin", "{\"pin\": 2, \"value\": 1}")).await;
    let refused = refused.failed("permission_denied");
    assert_eq!(refused["details"]["device"], NAME);
    assert!(refused["message"].as_str().unwrap().starts_with("kitchen: "), "{refused}");
    assert!(refused["details"]["gates"].is_array() || refused["details"].as_object().unwrap().len() > 2, "{refused}");
    served.wire.call("fleet.call", call("no.such", "{}")).await.failed("not_found");
    writes("rmcp_of_nobody");
    served.wire.call("fleet.call", call("system.get_clock", "{}")).await.failed("unauthenticated");
    let unknown = served.wire.call("fleet.call", json!({ "device": "attic", "tool": "system.get_clock" })).await;
    unknown.failed("not_found");
}

#[tokio::test]
async fn a_device_that_becomes_silent_is_told_to_the_owner_once() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    // One made its status so long ago that it is silent in a moment.
    let soon_silent = Wall::system().now_ms() - 45 * 60_000 + 3_000;
    fleet.clients[1].device.differs = json!({ "time_ms": soon_silent });
    fleet.report().await;
    let receiver = Receiver::new().await;
    let url = receiver.address;
    let config = format!(
        "[[notifications.webhooks]]\nname = \"owner\"\nurl = \"http://{url}/\"\nplain_http = true\nevents = [\"device_silent\"]\n"
    );
    let mut served = Served::of(&fleet.home, fleet.desk.path(), &config);
    let told = receiver.requests(1).await;
    let told = told[0].json();
    assert_eq!(
        (&told["event"], &told["data"]["devices"], &told["data"]["count"]),
        (&json!("device_silent"), &json!(["shed"]), &json!(1)),
        "{told}"
    );
    // Another server of the same folder does not tell it again.
    served.child.kill().await.unwrap();
    let mut served = Served::of(&fleet.home, fleet.desk.path(), &config);
    let summary = served.wire.call("fleet.get_summary", json!({})).await;
    assert_eq!(summary.ok()["health_breakdown"]["silent"], 1);
    assert_eq!(receiver.so_far().len(), 1);
}
