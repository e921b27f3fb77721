//! Policy is of the deed, for reads too: what an action reads is in no answer, resource or page where policy denies the action.

use super::{all_tools, tools::arguments};
use crate::support::served::{Pi, Wire, soon};
use contract::{
    access::caller::{Caller, Transport},
    actions::{ACTIONS, DOES, Does, SHOWS},
    config::fragment_of,
    meta::Role,
};
use raspi_mcp::{page::events::LIVE, registry::Registry, resources::RESOURCES, sampling::metric::METRICS};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::PathBuf};
use tempfile::TempDir;

/// Reads that show nothing that has an action: they say what the machine, the server and its hardware are.
const FREE: &[&str] = &[
    "agents.get_status",
    "agents.list",
    "camera.list_cameras",
    "fleet.get_summary",
    "fleet.list_devices",
    "i2c.list_buses",
    "manage.check_for_updates",
    "manage.export_settings",
    "manage.get_capabilities",
    "manage.get_server_status",
    "manage.get_update_status",
    "manage.preview_os_updates",
    "metrics.list_sampling_jobs",
    "network.get_status",
    "network.list_connections",
    "network.ping",
    "onewire.list_devices",
    "process.list_processes",
    "sensors.list",
    "service.list_services",
    "service.validate_unit_file",
    "spi.list_buses",
    "system.get_basic_info",
    "system.get_capabilities",
    "system.get_clock",
    "system.get_detailed_network_info",
    "system.get_network_info",
    "system.list_devices",
    "system.list_packages",
    "tools.describe",
    "tools.run_read",
    "tools.search",
    "vector.get_page",
];

/// What the tests plant, and find wherever it is shown.
struct Secret {
    /// The names that a policy may deny it by.
    names: &'static [&'static str],
    is_in: fn(&Value) -> bool,
    /// Some that show it while nothing is denied.
    readers: &'static [&'static str],
}

const SECRETS: &[Secret] = &[
    Secret {
        names: &["gpio:read", "gpio.read_pin", "gpio.wait_for_edge"],
        is_in: |value| any(value, &|part| part.get("pin").is_some() && is_level(&part["value"])),
        readers: &["gpio.list_pins", "gpio.read_pin", "raspi://gpio", "raspi://gpio/17", "gpio.configure_pin"],
    },
    Secret {
        names: &["onewire:read", "onewire.read"],
        is_in: |value| any(value, &|part| part == &json!(19.25)),
        readers: &["onewire.read", "sensors.read", "metrics.get_samples"],
    },
    Secret {
        names: &["sensors:read", "sensors.read"],
        is_in: |value| any(value, &|part| part == &json!(5.08)),
        readers: &["sensors.read", "metrics.get_samples"],
    },
    Secret {
        names: &["files:list", "files.list"],
        is_in: |value| value.to_string().contains("harpsichord"),
        readers: &["files.list", "vector.search"],
    },
    Secret {
        names: &["files:read", "files.read"],
        is_in: |value| value.to_string().contains("at play"),
        readers: &["files.read", "vector.search"],
    },
    Secret {
        names: &["system:health", "system.get_health_snapshot"],
        is_in: is_health,
        readers: &["metrics.get_realtime_metrics", "metrics.get_samples", "/metrics"],
    },
    Secret {
        names: &["serial:read", "serial.read"],
        is_in: |value| any(value, &|part| part.get("preview").is_some()),
        readers: &["serial.list_ports", "raspi://serial/ttyAMA0"],
    },
    Secret {
        names: &["logs:app", "logs.get_recent_app_logs"],
        is_in: |value| value.to_string().contains("bassoon"),
        readers: &["logs.get_recent_app_logs", "raspi://logs/app"],
    },
];

/// Whether a part of `value` is one.
fn any(value: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    let inside = match value {
        Value::Object(map) => map.values().any(|part| any(part, is)),
        Value::Array(items) => items.iter().any(|part| any(part, is)),
        _ => false,
    };
    is(value) || inside
}

fn is_level(value: &Value) -> bool {
    ["high", "low"].iter().any(|level| value == level) || value.is_boolean() || value.is_u64()
}

/// A number of the table of metrics, or a line of `/metrics` about the machine.
fn is_health(value: &Value) -> bool {
    let is_line =
        |line: &str| ["node_", "raspi_mcp_cpu_", "raspi_mcp_filesystem_"].iter().any(|name| line.starts_with(name));
    match value {
        Value::String(page) if page.contains("raspi_mcp_build_info") => page.lines().any(is_line),
        value => any(value, &|part| METRICS.iter().any(|metric| part.get(metric.name).is_some_and(Value::is_number))),
    }
}

/// A server with something to be seen everywhere, whose policy changes while it runs.
struct Scene {
    pi: Pi,
    /// The fragment with the policy.
    policy: PathBuf,
    wire: Wire,
    _files: TempDir,
}

impl Scene {
    async fn new() -> Self {
        let files = TempDir::new().unwrap();
        let path = files.path().canonicalize().unwrap();
        std::fs::write(path.join("a.txt"), "quokkas at play\n").unwrap();
        std::fs::write(path.join("harpsichord.txt"), "quokkas at play in the rain\n").unwrap();
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        let namespaces: BTreeSet<&str> = registry.rows().map(|entry| entry.meta.namespace()).collect();
        let site = format!(
            "[tools]\nenable = {namespaces:?}\n[limits]\nreads_per_minute = 100000\nwrites_per_minute = 100000\n[http]\nmetrics = true\n\
             [[files.roots]]\nname = \"data\"\npath = {path:?}\nwritable = true\nindex = true\n",
        )
        .replace('{', "[")
        .replace('}', "]");
        let (pi, sources) = Pi::of_site(&[("10-site.toml", &site)]).await;
        let policy = fragment_of(&sources.places.site_dir, "manage");
        let mut wire = pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
        let job = json!({ "interval_seconds": 5, "metrics": ["cpu_percent", "memory_percent",
            "sensor:ds18b20@28-0000075bcd15/temp", "sensor:rp1_adc@1f000c8000.adc/in1"] });
        wire.call("metrics.start_sampling_job", job).await.ok();
        wire.call("serial.open", json!({ "port": "ttyAMA0" })).await.ok();
        wire.call("serial.write", json!({ "port": "ttyAMA0", "text": "hello" })).await.ok();
        wire.call("gpio.configure_pin", json!({ "pin": 17, "mode": "input" })).await.ok();
        {
            let _logs = pi.logs();
            tracing::warn!(target: "raspi_mcp::orchestra", "the bassoon is out of tune");
        }
        // Two kinds of news that nothing announces to a client.
        let ready = async {
            loop {
                let answer = wire.call("vector.get_status", json!({})).await;
                let indexed = answer.ok()["files"]["state"] == "ready";
                let answer = wire.call("metrics.get_samples", json!({})).await;
                if indexed && answer.ok()["pagination"]["total_count"] != 0 {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        soon(ready).await;
        Self { pi, policy, wire, _files: files }
    }

    /// From now on `name` is judged so, and nothing else is said.
    fn judge(&self, name: &str, mode: &str) {
        std::fs::write(&self.policy, format!("[policy]\n{name:?} = {mode:?}\n")).unwrap();
    }

    async fn metrics(&self) -> Value {
        let page = reqwest::get(format!("http://{}/metrics", self.pi.address())).await.unwrap();
        Value::String(page.text().await.unwrap())
    }

    async fn call(&mut self, tool: &str, args: Value) -> Value {
        self.wire.call(tool, args).await.message
    }
}

/// Everything that this server shows: the answers of all tools that read, of those that show something beside what they do, of
/// all resources, and `/metrics`.
async fn shown(scene: &mut Scene) -> Vec<(String, Value)> {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let mut all = Vec::new();
    for entry in registry.rows().filter(|entry| !entry.is_older()) {
        let shows = SHOWS.iter().any(|(name, _)| *name == entry.name());
        // What serial.read takes is no longer there for others; what a write was given is in its answer and in the audit.
        let skipped = ["serial.read", "gpio.write_pin"].contains(&entry.name());
        if entry.meta.effect.is_write() && !shows || entry.meta.long || skipped {
            continue;
        }
        let args = match entry.name() {
            "vector.search" => json!({ "query": "quokkas" }),
            "files.read" => json!({ "path": "a.txt" }),
            "sensors.read" | "files.list" | "metrics.get_samples" => json!({}),
            "gpio.configure_pin" => json!({ "pin": 17, "mode": "input" }),
            // Its connection has it, and keeps it.
            "gpio.release_pin" => json!({ "pin": 27 }),
            _ => arguments(entry),
        };
        all.push((entry.name().to_owned(), scene.call(entry.name(), args).await));
    }
    for resource in RESOURCES {
        let uri = match resource.variable() {
            None => resource.uri.to_owned(),
            Some("pin") => "raspi://gpio/17".into(),
            Some("port") => "raspi://serial/ttyAMA0".into(),
            Some(_) => continue,
        };
        let mut answer = scene.wire.request("resources/read", json!({ "uri": uri })).await.message;
        if let Some(text) = answer["result"]["contents"][0]["text"].as_str() {
            answer = serde_json::from_str(text).unwrap();
        }
        all.push((uri, answer));
    }
    all.push(("/metrics".into(), scene.metrics().await));
    all
}

#[tokio::test]
async fn what_policy_denies_is_shown_by_no_other_tool_resource_or_page() {
    let mut scene = Scene::new().await;
    let all = shown(&mut scene).await;
    for secret in SECRETS {
        for reader in secret.readers {
            let (_, answer) = all.iter().find(|(name, _)| name == reader).unwrap();
            assert!((secret.is_in)(answer), "{reader} does not show {}: {answer:#}", secret.names[0]);
        }
    }
    for (secret, name) in SECRETS.iter().flat_map(|secret| secret.names.iter().map(move |name| (secret, name))) {
        scene.judge(name, "deny");
        for (reader, answer) in shown(&mut scene).await {
            assert!(!(secret.is_in)(&answer), "{name} is denied, and {reader} shows it: {answer:#}");
        }
    }
    scene.pi.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_person_is_asked_about_is_not_shown_beside_something_else() {
    let mut scene = Scene::new().await;
    let of = |name: &str| SECRETS.iter().find(|secret| secret.names[0] == name).unwrap().is_in;
    scene.judge("onewire:read", "ask");
    let answer = scene.call("sensors.read", json!({})).await;
    assert!(!of("onewire:read")(&answer) && of("sensors:read")(&answer), "{answer:#}");
    scene.judge("files:list", "ask");
    let answer = scene.call("vector.search", json!({ "query": "quokkas" })).await;
    assert!(!of("files:list")(&answer), "{answer:#}");
    scene.judge("system:health", "ask");
    let page = scene.metrics().await;
    assert!(!is_health(&page) && page.as_str().unwrap().contains("raspi_mcp_build_info"), "{page}");
    scene.judge("sensors:read", "ask");
    let history =
        json!({ "metric_names": ["sensor:rp1_adc@1f000c8000.adc/in1"], "start_time": "2026-01-01T00:00:00Z" });
    let refused = scene.wire.call("metrics.query_history", history).await;
    assert!(refused.failed("permission_denied")["message"].as_str().unwrap().contains("sensors:read"), "{refused:#?}");
    // The log's lines are sent, not read: nobody could be asked about them.
    let mut follower = scene.pi.stdio(Caller::new("token:follower", Role::Admin, Transport::Http));
    follower.initialize("2025-11-25", "a client").await.result();
    let log = json!({ "uri": "raspi://logs/app" });
    follower.request("resources/subscribe", log.clone()).await.result();
    follower.request("resources/unsubscribe", log.clone()).await.result();
    scene.judge("logs:app", "ask");
    follower.request("resources/subscribe", log).await.fault(-32001);
    for (mode, shown) in [("allow", true), ("deny", false)] {
        scene.judge("gpio:read", mode);
        scene.wire.call("gpio.write_pin", json!({ "pin": 22, "value": "high" })).await.ok();
        let again = scene.wire.call("gpio.write_pin", json!({ "pin": 22, "value": "low" })).await;
        assert_eq!(again.ok().get("previous_value").is_some(), shown, "{again:#?}");
    }
    scene.pi.stop().await.unwrap();
}

#[test]
fn everything_that_reads_says_what_it_reads() {
    let registry = all_tools();
    let known: BTreeSet<&str> = ACTIONS.iter().map(|(action, _)| *action).collect();
    for (reader, actions) in SHOWS {
        let is_there = reader.starts_with('/') || registry.rows().any(|entry| entry.name() == *reader);
        assert!(is_there && !actions.is_empty() && actions.iter().all(|action| known.contains(action)), "{reader}");
        assert_eq!(SHOWS.iter().filter(|(other, _)| other == reader).count(), 1, "{reader} twice");
    }
    for entry in registry.rows().filter(|entry| !entry.meta.effect.is_write()) {
        let name = entry.name();
        let declared = Does::of(name).is_some_and(|does| !does.all().is_empty());
        let shows = SHOWS.iter().any(|(reader, _)| *reader == name);
        let says = "say in crates/contract/src/actions what it reads, or here that it reads nothing of the kind";
        assert!(declared || shows || FREE.contains(&name), "{name}: {says}");
        assert!(!(declared && FREE.contains(&name)), "{name} is declared: take it out here");
    }
    assert!(FREE.iter().all(|name| registry.rows().any(|entry| entry.name() == *name)), "FREE has what there is not");
    // A resource is the answer of a tool, and the page follows resources.
    let tools: BTreeSet<&str> = registry.rows().map(|entry| entry.name()).collect();
    let is_routers = |tool: &str| tool.starts_with("routeros.");
    assert!(RESOURCES.iter().all(|resource| tools.contains(resource.tool) || is_routers(resource.tool)));
    let is_resource = |uri: &&str| RESOURCES.iter().any(|resource| uri.split('?').next() == Some(resource.uri));
    assert!(LIVE.iter().all(is_resource), "the page follows what is no resource");
    // Each action that only reads has a secret above, or one reader alone.
    let reads = DOES.iter().filter(|does| !does.halts && does.own.len() == 1).flat_map(|does| does.own);
    for action in reads {
        let others = DOES.iter().filter(|does| does.all().contains(action)).count();
        let shown = SHOWS.iter().any(|(_, actions)| actions.contains(action));
        let tested = SECRETS.iter().any(|secret| secret.names.contains(action)) || *action == "logs:journal";
        assert!(!shown || tested, "{action} is shown by others, and nothing here looks for it ({others})");
    }
}
