//! The memory of the routers' process, with as many routers as it may have.

use super::house::{House, Process, table};
use futures::StreamExt;
use raspi_mcp::routeros::link;
use routeros_simulator::{Profile, Router, server::Listener};
use serde_json::json;

const ROUTERS: usize = 100;
/// As many as one caller may have.
const AT_ONCE: usize = 8;
/// Of a process with 100 routers; the program itself, which is mapped and shared, comes on top.
const MOST_KB: u64 = 15 * 1024;

/// What is its own alone, in kB.
fn own_kb(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id().unwrap())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

#[tokio::test]
async fn a_hundred_routers_need_less_than_15_mib() {
    let mut listeners = Vec::new();
    for _ in 1..ROUTERS {
        listeners.push(Listener::bind(Router::new(Profile::V7_21), "127.0.0.1:0").await.unwrap());
    }
    let passwords = tempfile::TempDir::new().unwrap();
    let tables = listeners.iter().enumerate().map(|(number, listener)| {
        let name = format!("router-{number}");
        let password = passwords.path().join(&name);
        std::fs::write(&password, routeros_simulator::PASSWORD).unwrap();
        table(listener, &password).replace("\"edge\"", &format!("\"{name}\""))
    });
    let house = House::with(&tables.collect::<String>()).await;
    let server = house.server().await;
    let socket = link::socket(&server.server().pipeline.services.settings.places);
    let folder = house.folder.path().join("plans");
    let process = Process::start(&house.sources.places.agent_socket, &socket, &folder).await;
    let idle = own_kb(&process);
    let ids = (0..ROUTERS - 1).map(|number| format!("router-{number}")).chain(["edge".to_owned()]);
    let server = &server;
    let reads = ids.map(|id| async move {
        server.call("routeros.get_system_overview", json!({ "device_id": id })).await.ok();
    });
    futures::stream::iter(reads).buffer_unordered(AT_ONCE).collect::<()>().await;
    let most = own_kb(&process);
    println!("{ROUTERS} routers: {idle} kB at the start, {most} kB after a read of each, {AT_ONCE} at once");
    assert!(most < MOST_KB, "{most} kB; {idle} kB at the start");
}
