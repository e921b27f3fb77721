//! Devices that take a call and never answer it, beside others: what is asked of the fleet, and its halt, do not wait for them.

use super::{Fleet, Served};
use crate::support::{
    fleet::{DeviceClient, FLEET},
    served::soon,
};
use fleet_protocol::{
    subject::Subjects,
    tunnel::{FIRST_WINDOW, Frame},
};
use raspi_mcp::broker::{Broker, BrokerSubscription};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const HUNG: [&str; 10] = ["hung0", "hung1", "hung2", "hung3", "hung4", "hung5", "hung6", "hung7", "hung8", "hung9"];
const WELL: &str = "well";

/// What a hung device saw.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Dial(String),
    /// The other side closed a tunnel.
    Closed(String),
}

/// Accepts every tunnel, gives every sign of life, and says nothing else.
async fn hang(device: String, broker: Broker, mut dials: BrokerSubscription, seen: UnboundedSender<Seen>) {
    let subjects = Subjects::of(FLEET);
    while let Some(dial) = dials.next().await {
        let payload: Value = serde_json::from_slice(&dial.payload).unwrap();
        let connection = payload["connection"].as_str().unwrap();
        let mut frames = broker.subscribe(subjects.up(&device, connection)).await.unwrap();
        let (down, broker, device, seen) =
            (subjects.down(&device, connection), broker.clone(), device.clone(), seen.clone());
        broker.publish(down.clone(), Frame::Accept(FIRST_WINDOW).write().into()).await.unwrap();
        seen.send(Seen::Dial(device.clone())).unwrap();
        tokio::spawn(async move {
            while let Some(message) = frames.next().await {
                match Frame::read(&message.payload) {
                    Some(Frame::Probe) => {
                        let life = Frame::Credit(0).write().into();
                        broker.publish(down.clone(), life).await.unwrap();
                    }
                    Some(Frame::End | Frame::Reset(_)) => drop(seen.send(Seen::Closed(device.clone()))),
                    _ => {}
                }
            }
        });
    }
}

/// Refuses every tunnel, at once.
async fn refuse(device: String, broker: Broker, mut dials: BrokerSubscription) {
    while let Some(dial) = dials.next().await {
        let payload: Value = serde_json::from_slice(&dial.payload).unwrap();
        let down = Subjects::of(FLEET).down(&device, payload["connection"].as_str().unwrap());
        broker.publish(down, Frame::Reset("no tunnels today").write().into()).await.unwrap();
    }
}

/// A fleet with [`HUNG`] devices and one that is [`WELL`], what the hung ones see, and the one that is well.
async fn fleet() -> (Fleet, UnboundedReceiver<Seen>, DeviceClient) {
    let mut fleet = Fleet::of(&[&HUNG[..], &[WELL]].concat()).await;
    fleet.report().await;
    let (seen, sees) = unbounded_channel();
    for client in &fleet.clients {
        let (name, broker) = (client.device.name.clone(), client.broker.clone());
        let dials = broker.subscribe(Subjects::of(FLEET).dial(&name)).await.unwrap();
        broker.flush().await.unwrap();
        if name == WELL {
            tokio::spawn(refuse(name, broker, dials));
        } else {
            tokio::spawn(hang(name, broker, dials, seen.clone()));
        }
    }
    let dir = fleet.desk.path();
    fs::write(dir.join("serve.toml"), "[[callers]]\nname = \"stdio\"\ntokens = \"tokens\"\n").unwrap();
    fs::create_dir(dir.join("tokens")).unwrap();
    for name in &fleet.names {
        let token = dir.join("tokens").join(name);
        fs::write(&token, "rmcp_some").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let well = fleet.clients.pop().unwrap();
    (fleet, sees, well)
}

fn call(device: &str) -> Value {
    json!({ "name": "fleet.call", "arguments": { "device": device, "tool": "system.get_clock" } })
}

#[tokio::test]
async fn ten_hung_devices_keep_nobody_from_the_others_and_from_the_halt() {
    let (fleet, mut sees, mut well) = fleet().await;
    let mut served = Served::of(&fleet.home, fleet.desk.path(), "");
    let wire = &mut served.wire;
    let mut asked = Vec::new();
    for name in HUNG {
        asked.extend([wire.ask("tools/call", call(name)), wire.ask("tools/call", call(name))]);
    }
    soon(async {
        for _ in 0..asked.len() {
            assert!(matches!(sees.recv().await, Some(Seen::Dial(_))));
        }
    })
    .await;
    // No third one of this device.
    let refused = wire.request("tools/call", call(HUNG[0])).await;
    let refused = refused.failed("resource_exhausted");
    assert_eq!((&refused["details"]["limit"], &refused["details"]["limit_of"]), (&json!(2), &json!("device")));
    // Others answer at once, and so does what the console knows itself.
    let begun = Instant::now();
    for _ in 0..20 {
        wire.request("tools/call", call(WELL)).await.failed("unavailable");
        assert_eq!(wire.call("fleet.list_devices", json!({})).await.ok()["devices"].as_array().unwrap().len(), 11);
    }
    // Before, each waited for up to ten minutes.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let halt = json!({ "all": true, "reason": "smoke" });
    let begun = Instant::now();
    let (reason, halted) = tokio::join!(well.follows(), wire.call("fleet.halt", halt));
    assert_eq!((reason.as_deref(), halted.ok()), (Some("smoke"), &json!({ "confirmed": [WELL], "open": HUNG })));
    // Nobody waits half a minute for those who hang.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // A caller that gives up frees the device at once; it has one place from then on.
    wire.notify("notifications/cancelled", json!({ "requestId": asked[2] }));
    assert_eq!(soon(sees.recv()).await, Some(Seen::Closed(HUNG[1].into())));
    let refused = wire.request("tools/call", call(HUNG[1])).await;
    assert_eq!(refused.failed("resource_exhausted")["details"]["limit"], 1);
}
