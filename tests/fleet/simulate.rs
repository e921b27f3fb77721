//! Many devices in one process against one broker, for ci/bench-fleet: `cargo run --example simulate-fleet -- 1000`.
//!
//! Each has its own certificate, key, connection and subscriptions, and sends what a real one sends. Prints a line of JSON
//! when all are connected and have reported; then follows commands on standard input, one a line:
//! `change NAME VERSION`, `flap COUNT` (as many devices report at once), `channel` (a release that nobody gets yet), `follow ONE_IN`
//! (all devices follow the channel until it is paused; one in so many fails), `restart` (the broker is killed, and all devices
//! come back), and ends with its input.

// A program for measuring may fail loudly.
#![allow(clippy::unwrap_used)]
// It uses a part.
#[allow(dead_code, unused_imports)]
#[path = "../support/fleet/mod.rs"]
mod fleet;
mod follow;
#[allow(dead_code)]
#[path = "../it/update/keys.rs"]
mod keys;

use fleet::{DeviceClient, FleetDesk, NatsServer, SimulatedDevice};
use fleet_protocol::log::LogKind;
use follow::Followers;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::{collections::HashMap, thread, time::Instant};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// Connections that are made, or reports that are sent, at the same time.
const AT_ONCE: usize = 64;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let count: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("how many devices");
    let begun = Instant::now();
    let desk = FleetDesk::new();
    let names: Vec<String> = (0..count).map(|number| format!("device-{number}")).collect();
    let devices = enrolled(&desk, &names);
    let enrolled = begun.elapsed();
    let mut server = NatsServer::start(&desk, &names).await;
    let begun = Instant::now();
    let port = server.port;
    let connect = devices.into_iter().map(async |device| {
        let client = device.connects(port, true).await;
        let mut state = client.broker.state();
        state.wait_for(|state| state.connected).await.unwrap();
        client.broker.flush().await.unwrap();
        client
    });
    let mut clients: Vec<DeviceClient> = stream::iter(connect).buffer_unordered(AT_ONCE).collect().await;
    let connected = begun.elapsed();
    report(&mut clients).await;
    let places: HashMap<String, usize> =
        clients.iter().enumerate().map(|(place, client)| (client.device.name.clone(), place)).collect();
    // One message of the log, twice, as after a lost connection.
    let first = &clients[places["device-0"]];
    let told = first.device.log(LogKind::Update, 1, json!({ "version": "2.1.0", "phase": "committed" }));
    for _ in 0..2 {
        first.logs(&told).await;
    }
    let ready = json!({
        "dir": desk.path(), "server": server.pid(), "devices": count, "enrol_seconds": enrolled.as_secs_f64(),
        "connect_seconds": connected.as_secs_f64(),
    });
    println!("{ready}");
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |text: &str| text.parse::<usize>().expect("a number");
        let mut came = Value::Null;
        match words[..] {
            ["change", name, version] => {
                let client = &mut clients[places[name]];
                client.device.differs = json!({ "version": version });
                client.reports().await;
            }
            ["flap", many] => report(&mut clients[..number(many).min(count)]).await,
            ["channel"] => follow::make_channel(desk.path()),
            ["follow", one_in] => {
                clients.sort_by_cached_key(|client| places[&client.device.name]);
                came = Followers::new(&mut clients, number(one_in)).until_paused(desk.path()).await;
            }
            ["restart"] => {
                server.restart(&desk, &names).await;
                for client in &clients {
                    let mut state = client.broker.state();
                    state.wait_for(|state| state.connected && state.connections > 1).await.unwrap();
                }
            }
            _ => panic!("no command: {line}"),
        }
        println!("{}", json!({ "done": line, "server": server.pid(), "came": came }));
    }
}

/// Keys, certificates and entries in the registry, by all processors.
fn enrolled(desk: &FleetDesk, names: &[String]) -> Vec<SimulatedDevice> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = names.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let one = |names: &[String]| names.iter().map(|name| desk.enrolls(name, &[])).collect::<Vec<_>>();
        let running: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || one(names))).collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// All of them send a status, and wait until the broker has it.
async fn report(clients: &mut [DeviceClient]) {
    stream::iter(clients.iter_mut()).map(DeviceClient::reports).buffer_unordered(AT_ONCE).for_each(async |()| {}).await;
}
