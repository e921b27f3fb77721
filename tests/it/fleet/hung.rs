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
use futures::future::join_all;
use raspi_mcp::broker::{Broker, BrokerSubscription};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const HUNG: [&str; 10] = ["hung0", "hung1", "hung2", "hung3", "hung4", "hung5", "hung6", "hung7", "hung8", "hung9"];

/// The others; RASPI_MCP_WELL=40 measures a fleet of fifty.
fn well() -> Vec<String> {
    let count = std::env::var("RASPI_MCP_WELL").ok().and_then(|count| count.parse().ok()).unwrap_or(3);
    (0..count).map(|number| format!("well{number}")).collect()
}

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

/// A fleet with [`HUNG`] devices and those that are [`well`], what the hung ones see, and those that are well.
async fn fleet(well: &[String]) -> (Fleet, UnboundedReceiver<Seen>, Vec<DeviceClient>) {
    let names: Vec<&str> = HUNG.into_iter().chain(well.iter().map(String::as_str)).collect();
    let mut fleet = Fleet::of(&names).await;
    fleet.report().await;
    let (seen, sees) = unbounded_channel();
    for client in &fleet.clients {
        let (name, broker) = (client.device.name.clone(), client.broker.clone());
        let dials = broker.subscribe(Subjects::of(FLEET).dial(&name)).await.unwrap();
        broker.flush().await.unwrap();
        if HUNG.contains(&name.as_str()) {
            tokio::spawn(hang(name, broker, dials, seen.clone()));
        } else {
            tokio::spawn(refuse(name, broker, dials));
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
    let well = fleet.clients.split_off(HUNG.len());
    (fleet, sees, well)
}

fn call(device: &str) -> Value {
    json!({ "name": "fleet.call", "arguments": { "device": device, "tool": "system.get_clock" } })
}

#[tokio::test]
async fn ten_hung_devices_keep_nobody_from_the_others_and_from_the_halt() {
    let names = well();
    let (fleet, mut sees, mut well) = fleet(&names).await;
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
    let mut took = Vec::new();
    for number in 0..20 {
        let begun = Instant::now();
        wire.request("tools/call", call(&names[number % names.len()])).await.failed("unavailable");
        took.push(begun.elapsed());
        let begun = Instant::now();
        wire.call("fleet.list_devices", json!({})).await.ok();
        took.push(begun.elapsed());
    }
    let slowest = took.iter().max().unwrap();
    eprintln!("{} others: the slowest of {} calls took {slowest:?}", names.len(), took.len());
    // Before, each waited for up to ten minutes.
    assert!(*slowest < Duration::from_secs(5), "{slowest:?}");
    let halt = json!({ "all": true, "reason": "smoke" });
    let begun = Instant::now();
    let following = join_all(well.iter_mut().map(DeviceClient::follows));
    let (_, halted) = tokio::join!(following, wire.call("fleet.halt", halt));
    let confirmed: BTreeSet<&String> = names.iter().collect();
    assert_eq!(halted.ok(), &json!({ "confirmed": confirmed, "open": HUNG }));
    eprintln!("the halt of all was answered after {:?}", begun.elapsed());
    // Nobody waits half a minute for those who hang.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // A caller that gives up frees the device at once; it has one place from then on.
    wire.notify("notifications/cancelled", json!({ "requestId": asked[2] }));
    assert_eq!(soon(sees.recv()).await, Some(Seen::Closed(HUNG[1].into())));
    let refused = wire.request("tools/call", call(HUNG[1])).await;
    assert_eq!(refused.failed("resource_exhausted")["details"]["limit"], 1);
}
