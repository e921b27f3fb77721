//! The memory of the routers' process: with as many routers as it may have, and with a router whose tables are long.

use super::{
    hostile::{Person, answered, request, with_ask},
    house::{House, Process, table},
};
use futures::StreamExt;
use raspi_mcp::routeros::link;
use routeros_simulator::{Profile, Router, server::Listener};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ROUTERS: usize = 100;
/// As many as one caller may have.
const AT_ONCE: usize = 8;
/// Of a process with 100 routers; the program itself, which is mapped and shared, comes on top.
const MOST_KB: u64 = 15 * 1024;

/// The most that the process ever had in memory, the program itself included, beside tables of this length.
const MOST_PEAK_KB: u64 = 64 * 1024;
const ROUTES: u32 = 30_000;
const LEASES: u32 = 20_000;
/// For one call about them; more where nothing is optimized, the simulated router included.
const MOST_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });

/// A line of `/proc/PID/status`, in kB.
fn status_kb(process: &Process, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id().unwrap())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

/// What is its own alone, in kB.
fn own_kb(process: &Process) -> u64 {
    status_kb(process, "RssAnon")
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

/// A network of 10.0.0.0/8.
fn network(at: u32) -> String {
    format!("10.{}.{}.0/24", 1 + at / 256, at % 256)
}

#[tokio::test]
async fn thirty_thousand_routes_and_twenty_thousand_leases_beside_a_plan_need_less_than_64_mib() {
    let house = House::with("allow_professional = true\n").await;
    house.was_tested().await;
    let route = |at: u32| {
        vec![
            ("dst-address", network(at)),
            ("gateway", format!("192.168.88.{}", 2 + at % 250)),
            ("distance", "20".to_owned()),
            ("scope", "40".to_owned()),
            ("target-scope", "10".to_owned()),
            ("routing-table", "main".to_owned()),
            ("bgp", "true".to_owned()),
        ]
    };
    let lease = |at: u32| {
        vec![
            ("address", format!("10.200.{}.{}", at / 256, at % 256)),
            ("mac-address", format!("5C:AA:FD:01:{:02X}:{:02X}", at / 256, at % 256)),
            ("client-id", format!("1:5c:aa:fd:1:{:x}:{:x}", at / 256, at % 256)),
            ("server", "defconf".to_owned()),
            ("dhcp-option", String::new()),
            ("status", "bound".to_owned()),
            ("expires-after", "8m12s".to_owned()),
            ("last-seen", "1m48s".to_owned()),
            ("active-address", format!("10.200.{}.{}", at / 256, at % 256)),
            ("active-server", "defconf".to_owned()),
            ("host-name", format!("host-{at}")),
        ]
    };
    house.router.add_dynamic_rows("ip/route", (0..ROUTES).map(route));
    house.router.add_dynamic_rows("ip/dhcp-server/lease", (0..LEASES).map(lease));
    let server = house.server().await;
    let process = house.process(&server).await;
    let mut said = format!("{} kB at the start", status_kb(&process, "VmHWM"));
    let mut slow = Vec::new();
    let mut ended = |what: &str, began: Instant| {
        let took = began.elapsed();
        said += &format!("; {what}: {:.1} s, {} kB", took.as_secs_f32(), status_kb(&process, "VmHWM"));
        slow.extend((took > MOST_TIME).then(|| what.to_owned()));
    };

    let says =
        async |request: &Value| tokio::time::timeout(MOST_TIME, answered(&process, request)).await.expect("it ends");
    let began = Instant::now();
    let args = json!({ "device_id": "edge", "limit": 1000 });
    let routes = says(&request("routeros.get_routing_summary", args)).await;
    ended("routes", began);
    assert_eq!(routes["ok"]["total_routes"], ROUTES + 3, "{routes:.200}");
    let began = Instant::now();
    let args = json!({ "device_id": "edge", "offset": LEASES, "limit": 1000 });
    let leases = says(&request("routeros.get_dhcp_leases", args)).await;
    ended("leases", began);
    let total = leases["ok"]["total_count"].as_u64().unwrap();
    assert!(total > u64::from(LEASES), "{total}");
    assert_eq!(leases["ok"]["leases"].as_array().unwrap().len() as u64, total - u64::from(LEASES));
    let began = Instant::now();
    let args = json!({ "device_ids": ["edge"], "dst_address": "172.16.0.0/16", "gateway": "192.168.88.253", "timer_seconds": 600 });
    let plan = says(&request("routeros.plan_add_static_route", args)).await;
    ended("plan", began);
    let tool = "routeros.apply_routing_plan";
    let apply = request(tool, json!({ "plan_id": plan["ok"]["plan_id"] }));
    let subject = says(&json!({ "subject": apply["call"] })).await["ok"].clone();
    let apply = with_ask(apply, &Person::of(&house).approves(tool, &subject).await);
    let began = Instant::now();
    let done = says(&apply).await;
    ended("apply", began);
    assert_eq!(done["ok"]["status"], "done", "{done}; {said}");
    println!("{ROUTES} routes and {LEASES} leases: {said}");
    let peak = status_kb(&process, "VmHWM");
    assert!(peak < MOST_PEAK_KB && slow.is_empty(), "{slow:?}: {said}");
}

/// A plan keeps the routes that the owner wrote.
#[tokio::test]
#[ignore = "a measurement"]
async fn a_plan_beside_thirty_thousand_static_routes() {
    let house = House::with("allow_professional = true\n").await;
    house.was_tested().await;
    let route = |at: u32| {
        let gateway = format!("192.168.88.{}", 2 + at % 250);
        let fields = [("dst-address", network(at)), ("gateway", gateway), ("distance", "1".to_owned())];
        let more = [("scope", "30"), ("target-scope", "10"), ("routing-table", "main"), ("comment", "branch office")];
        fields.into_iter().chain(more.map(|(name, value)| (name, value.to_owned()))).collect()
    };
    house.router.add_rows("ip/route", (0..ROUTES).map(route));
    let server = house.server().await;
    let process = house.process(&server).await;
    let start = status_kb(&process, "VmHWM");
    let began = Instant::now();
    let route = json!({ "dst_address": network(77) });
    let to = json!({ "device_ids": ["edge"], "route": route, "gateway": "192.168.88.253" });
    let modify = request("routeros.plan_modify_static_route", to);
    let plan = tokio::time::timeout(MOST_TIME, answered(&process, &modify)).await.expect("it ends");
    let (took, peak) = (began.elapsed(), status_kb(&process, "VmHWM"));
    println!("{ROUTES} static routes: {:.1} s, {start} kB at the start, {peak} kB", took.as_secs_f32());
    assert_eq!(plan["ok"]["devices"][0]["changes"][0]["action"], "set", "{plan}");
    assert!(peak - start < MOST_PEAK_KB && took < MOST_TIME, "{took:?}, {start} kB, {peak} kB");
}
