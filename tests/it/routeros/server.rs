//! The tools in a server: what is listed, which names lead to them, and what the audit keeps.

use super::Bench;
use crate::support::{
    served::{Door, Pi},
    settings::allow_everything,
};
use contract::{
    access::{
        caller::{Caller, Transport},
        token::Token,
    },
    config::{Settings, TokenSetting},
    meta::Role,
};
use raspi_mcp::{
    routeros::{link::RouterosLink, table},
    tools::routeros::offer,
};
use routeros_simulator::Profile;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The budget for what the routers' tools add to what a host hands its model.
const ADDED: usize = 8_192;

/// A server with a router.
pub async fn pi() -> (Pi, Bench, super::Service) {
    with(|_| {}).await
}

async fn with(change: impl FnOnce(&mut Settings)) -> (Pi, Bench, super::Service) {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        change(settings);
    })
    .await;
    let pipeline = &pi.server().pipeline;
    offer(&pipeline.registry, &pipeline.services, RouterosLink::InProcess(service.service.clone())).unwrap();
    (pi, bench, service)
}

fn routers_own(list: &Value) -> Vec<Value> {
    let tools = list["tools"].as_array().unwrap().iter();
    tools.filter(|tool| tool["_meta"]["name"].as_str().unwrap().starts_with("routeros.")).cloned().collect()
}

#[tokio::test]
async fn without_a_router_there_is_nothing_and_with_one_a_short_list() {
    let without = Pi::standard(allow_everything).await;
    let mut wire = without.on(Door::Stdio).await;
    let listed = wire.request("tools/list", json!({ "limit": 200 })).await;
    assert!(routers_own(listed.result()).is_empty());
    for name in ["routeros.list_devices", "device/list-devices", "list_devices", "echo"] {
        wire.request("tools/call", json!({ "name": name })).await.fault(-32602);
    }
    let empty = super::Service::new([]);
    let pipeline = &without.server().pipeline;
    offer(&pipeline.registry, &pipeline.services, RouterosLink::InProcess(empty.service.clone())).unwrap();
    assert!(!pipeline.registry.entries().any(|entry| entry.meta().namespace() == "routeros"));

    let (pi, _bench, _service) = pi().await;
    let listed = pi.on(Door::Stdio).await.request("tools/list", json!({ "limit": 200 })).await;
    let tools = routers_own(listed.result());
    let added: usize = tools
        .iter()
        .map(|tool| {
            tool["name"].as_str().unwrap().len()
                + tool["description"].as_str().unwrap().len()
                + tool["inputSchema"].to_string().len()
        })
        .sum();
    println!("{} of {} tools for routers are listed: {added} bytes handed over", tools.len(), table::all().count());
    assert!((10..=25).contains(&tools.len()) && added <= ADDED, "{} tools, {added} bytes", tools.len());
}

#[tokio::test]
async fn every_name_leads_to_its_tool() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    let args = json!({ "device_id": "attic" });
    for name in [
        "routeros.get_system_clock",
        "routeros_get_system_clock",
        "routeros/get_system_clock",
        "routeros.get_system_clock@1",
        "system/get-clock",
        "get_system_clock",
    ] {
        let answer = wire.call(name, args.clone()).await;
        assert_eq!(answer.ok()["device_id"], "attic", "{name}");
    }
    assert_eq!(wire.request("system/get-clock", args.clone()).await.result()["timezone"], "Europe/Riga");
    let registry = &pi.server().pipeline.registry;
    for tool in table::all() {
        for name in [tool.name, tool.catalogue, tool.operation()].into_iter().filter(|name| !name.is_empty()) {
            let (entry, _) = registry.resolve(name).unwrap_or_else(|error| panic!("{}", error.explain(name)));
            assert_eq!(entry.name(), tool.name, "{name}");
        }
    }
    for (name, tool) in [
        ("echo", "system.get_basic_info"),
        ("service_health", "manage.get_server_status"),
        ("audit/get-events", "logs.get_recent_audit_logs"),
    ] {
        assert_eq!(registry.resolve(name).ok().unwrap().0.name(), tool);
    }
    // A tool of this server keeps its own name.
    assert_eq!(registry.resolve("network.ping").ok().unwrap().0.name(), "network.ping");
}

#[tokio::test]
async fn what_is_not_listed_is_found_described_and_called() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    for (question, tool) in [
        ("traceroute from the router", "routeros.traceroute"),
        ("export mikrotik configuration", "routeros.get_config_snapshot"),
        ("capsman access points", "routeros.get_capsman_remote_caps"),
        ("router firewall address list", "routeros.list_firewall_address_lists"),
    ] {
        let found = wire.call("tools.search", json!({ "query": question })).await;
        let names: Vec<&Value> = found.ok()["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(names.iter().take(3).any(|name| **name == tool), "{question}: {names:?}");
    }
    let described = wire.call("tools.describe", json!({ "names": ["system/get-overview"] })).await;
    let meta = &described.ok()["tools"][0]["descriptor"]["_meta"];
    assert_eq!(
        [&meta["phase"], &meta["requires_approval"], &meta["cacheable"], &meta["deprecation_date"]],
        [&json!(1), &json!(false), &json!(false), &Value::Null]
    );
    let through = json!({
        "name": "routeros.traceroute", "arguments": "{\"device_id\": \"attic\", \"address\": \"198.51.100.1\"}",
    });
    assert_eq!(wire.call("tools.run_read", through).await.ok()["total_hops"], 2);
}

#[tokio::test]
async fn a_password_that_a_caller_sends_is_in_no_record() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    let args = json!({
        "name": "attic", "management_address": "192.0.2.1:443",
        "credentials": { "username": "admin", "password": "correct horse" },
    });
    let error = wire.call("device/register-device", args).await;
    let error = error.failed("failed_precondition").clone();
    assert!(error["hint"].as_str().unwrap().contains("raspi-mcp routeros add"), "{error}");
    wire.call("routeros.get_system_clock", json!({ "device_id": "attic" })).await.ok();
    let audit = pi.audit().await;
    let of = |tool: &str| audit.iter().find(|record| record["tool"] == tool).unwrap_or_else(|| panic!("{tool}"));
    assert_eq!(of("routeros.register_device")["outcome"], "failed_precondition");
    assert!(of("routeros.get_system_clock").get("by").is_none_or(Value::is_null), "this program does it");
    assert!(!json!(audit).to_string().contains("horse"));
}

#[tokio::test]
async fn a_token_for_some_routers_reaches_no_other() {
    let token = |name: &str, devices: &[&str]| TokenSetting {
        name: name.into(),
        sha256: Token::mint().unwrap().sha256(),
        role: Role::Admin,
        owner: None,
        expires: None,
        devices: devices.iter().map(|device| (*device).to_owned()).collect(),
    };
    let tokens = vec![token("all", &[]), token("own", &["attic"]), token("other", &["cellar"])];
    let (pi, bench, _service) = with(|settings| settings.access.tokens = tokens).await;
    let call = async |name: &str| {
        let mut wire = pi.stdio(Caller::new(format!("token:{name}"), Role::Admin, Transport::Http));
        let listed = wire.call("routeros.list_devices", json!({})).await.ok()["total_count"].clone();
        (listed, wire.call("routeros.get_system_clock", json!({ "device_id": "attic" })).await)
    };
    for name in ["all", "own"] {
        let (listed, answer) = call(name).await;
        assert_eq!((listed, &answer.ok()["device_id"]), (json!(1), &json!("attic")), "{name}");
    }
    let heard = bench.router.requests();
    let (listed, answer) = call("other").await;
    assert_eq!(listed, 0);
    assert_eq!(answer.failed("permission_denied")["details"]["mcp_error_code"], "FORBIDDEN");
    assert_eq!(bench.router.requests(), heard);
}

#[tokio::test]
async fn routers_have_resources_and_their_ids_are_completed() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    wire.initialize("2025-11-25", "a client").await.result();
    let templates = wire.request("resources/templates/list", json!({})).await;
    let templates = templates.result()["resourceTemplates"].as_array().unwrap().clone();
    let ours: Vec<&str> = templates
        .iter()
        .filter(|template| template["uriTemplate"].as_str().unwrap().starts_with("raspi://routeros/"))
        .map(|template| template["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        ours,
        ["overview", "packages", "plans", "snapshots", "export", "log"].map(|name| format!("routeros/{name}"))
    );
    for (uri, mime, has) in [
        ("raspi://routeros/attic/overview", "application/json", "\"identity\":\"MikroTik\""),
        ("raspi://routeros/attic/packages", "application/json", "\"packages\""),
        ("raspi://routeros/attic/export", "text/plain", "/ip firewall filter"),
        ("raspi://routeros/attic/export?topic=firewall", "text/plain", "/ip firewall filter"),
        ("raspi://routeros/attic/log?limit=1", "application/json", "\"returned_count\":1"),
    ] {
        let read = wire.request("resources/read", json!({ "uri": uri })).await;
        let content = &read.result()["contents"][0];
        assert_eq!(content["mimeType"], mime, "{uri}");
        assert!(content["text"].as_str().unwrap().contains(has), "{uri}: {content}");
    }
    for uri in ["raspi://routeros/attic", "raspi://routeros/attic/", "raspi://routeros/a/b/export"] {
        wire.request("resources/read", json!({ "uri": uri })).await.fault(-32002);
    }
    let answer = wire.call("routeros.get_system_overview", json!({ "device_id": "attic" })).await;
    assert_eq!(answer.meta()["resource_uri"], "raspi://routeros/attic/overview");
    let template = json!({ "type": "ref/resource", "uri": "raspi://routeros/{device_id}/overview" });
    let prompt = json!({ "type": "ref/prompt", "name": "security-audit" });
    for of in [template, prompt] {
        let asked = json!({ "ref": of, "argument": { "name": "device_id", "value": "at" } });
        let completed = wire.request("completion/complete", asked).await;
        assert_eq!(completed.result()["completion"]["values"], json!(["attic"]));
    }
}

#[tokio::test]
async fn prompts_about_routers_are_there_with_a_router_and_name_tools() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    wire.initialize("2025-11-25", "a client").await.result();
    let listed = wire.request("prompts/list", json!({})).await;
    let prompts = listed.result()["prompts"].as_array().unwrap().clone();
    assert_eq!(prompts.len(), 12);
    let registry = &pi.server().pipeline.registry;
    let mut missing = BTreeSet::new();
    for prompt in &prompts[2..] {
        let arguments =
            if prompt["arguments"].as_array().unwrap().iter().any(|argument| argument["name"] == "device_id") {
                json!({ "device_id": "attic" })
            } else {
                json!({})
            };
        let got = wire.request("prompts/get", json!({ "name": prompt["name"], "arguments": arguments })).await;
        let text = got.result()["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
        assert!(!text.contains(['{', '}', '<', '>']), "{text}");
        assert!(arguments.get("device_id").is_none() || text.contains("attic"), "{text}");
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let named: Vec<&str> = words.filter(|word| word.starts_with("routeros_")).collect();
        assert!(!named.is_empty(), "{text}");
        missing.extend(named.into_iter().filter(|name| registry.resolve(name).is_err()).map(str::to_owned));
    }
    assert!(missing.is_empty(), "{missing:?}");
    let without = Pi::standard(|_| {}).await;
    let mut wire = without.on(Door::Stdio).await;
    wire.initialize("2025-11-25", "a client").await.result();
    wire.request("prompts/get", json!({ "name": "security-audit" })).await.fault(-32602);
}

#[tokio::test]
async fn how_a_router_was_is_in_the_store() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    let health = json!({ "device_id": "attic", "include_history": true, "history_hours": 1 });
    assert!(wire.call("routeros.get_health_data", json!({ "device_id": "attic" })).await.ok().get("history").is_none());
    for _ in 0..2 {
        wire.call("routeros.get_fleet_summary", json!({})).await.ok();
        let answer = wire.call("routeros.get_health_data", health.clone()).await;
        let history = answer.ok()["history"].as_array().unwrap();
        assert_eq!((history.len(), &history[0]["status"]), (1, &json!("healthy")), "one a minute");
        assert_eq!(history[0]["cpu_usage_percent"], answer.ok()["current_health"]["cpu_usage_percent"]);
    }
    let store = &pi.server().pipeline.services.store;
    let count = "SELECT count(*) FROM routeros_health WHERE device = 'attic'";
    let kept: i64 = store.look(move |store| store.query_row(count, [], |row| row.get(0))).await.unwrap();
    assert_eq!(kept, 1);
}
