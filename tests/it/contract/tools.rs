//! What every entry of the registry must be.

use super::{all_tools, oracle, parameters, probe};
use crate::{
    manage::web::{Web, looks_at},
    support::{
        served::{Door, Pi},
        settings::{PHOTO, allow_everything},
    },
};
use contract::{
    meta::{Mode, Tier},
    schema::Checker,
};
use raspi_mcp::registry::{Registry, row::ToolRow};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The budget, in bytes, for what a host hands its model, of a default read_only caller.
const HANDED_OVER: usize = 20_000;
/// The whole list of the same caller: what a host reads at its start.
const LISTED: usize = 64_000;

#[test]
fn every_tool_is_named_described_and_unique() {
    let registry = all_tools();
    let mut names = BTreeSet::new();
    for entry in registry.rows() {
        let (meta, name) = (entry.meta, entry.name());
        assert!(names.insert(name) && names.insert(meta.title), "{name} or its title is there twice");
        let parts: Vec<&str> = name.split('.').collect();
        let plain = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        assert!(parts.len() == 2 && parts.iter().all(|part| plain(part)) && name.len() <= 64, "{name}");
        let (first, rest) = meta.description.split_once("\n\n").unwrap_or_else(|| panic!("{name}: one paragraph"));
        assert!(first.ends_with('.') && first.len() <= 160, "{name} begins with one sentence: {first}");
        for heading in ["Use when", "Returns"] {
            assert!(rest.contains(heading), "{name} does not say \"{heading}\"");
        }
        assert!(!meta.tags.is_empty(), "{name} has no tags to be found by");
        assert!(meta.timeout_seconds > 0 && meta.estimated_tokens > 0, "{name}");
        for (parameter, schema) in entry.input_schema()["properties"].as_object().unwrap() {
            let described = schema["description"].as_str().is_some_and(|text| text.len() >= 8);
            assert!(described, "{name}: parameter {parameter} is not described");
        }
    }
}

#[test]
fn arguments_are_closed_results_open_and_promises_match_parameters() {
    for entry in all_tools().rows() {
        let (meta, name, has) = (entry.meta, entry.name(), parameters(entry));
        let (input, output) = (entry.input_schema(), entry.output_schema());
        for schema in [&input, &output] {
            assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}: no schema by the meta-schema");
            Checker::new(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(input["type"], "object", "{name}");
        assert_eq!(input["additionalProperties"], false, "{name}: an unknown parameter must be refused");
        each(&input, &mut |part| {
            let closed = part.get("properties").is_none() || part["additionalProperties"] == false;
            assert!(closed, "{name}: objects in arguments are closed: {part}");
            // Null counts as absent, wherever something may be left out: said once, not at every property.
            let types = part["type"].as_array().into_iter().chain(part["enum"].as_array()).flatten();
            let advertised = types.into_iter().any(|one| one == "null" || one.is_null());
            assert!(!advertised && part.get("default") != Some(&Value::Null), "{name}: null is advertised: {part}");
        });
        each(&output, &mut |part| {
            assert!(part.get("additionalProperties") != Some(&json!(false)), "{name}: results are open: {part}");
        });
        assert_eq!(output["type"], "object", "{name}: MCP's structuredContent is an object");
        assert_eq!(meta.dry_run, has.contains("dry_run"), "{name}: supports_dry_run");
        if meta.dry_run {
            assert_eq!(input["properties"]["dry_run"]["type"], "boolean", "{name}");
        }
        assert_eq!(meta.paginated, has.contains("limit") && has.contains("offset"), "{name}: supports_pagination");
        assert_eq!(meta.paginated, output["properties"].get("pagination").is_some(), "{name}: pagination");
        for schema in [&input, &output] {
            assert!(jsonschema::meta::is_valid(schema), "{name}");
            assert!(!schema.to_string().contains("\"$ref\""), "{name}: schemas are inlined");
        }
    }
}

/// Every schema in `schema`, itself included.
pub fn each(schema: &Value, visit: &mut impl FnMut(&Value)) {
    if schema.is_object() {
        visit(schema);
    }
    let parts: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return,
    };
    parts.into_iter().for_each(|part| each(part, visit));
}

#[test]
fn defaults_are_as_careful_as_the_tier_says() {
    for entry in all_tools().rows() {
        let (meta, name) = (entry.meta, entry.name());
        match meta.tier {
            // A tool that only runs others has no effect of its own, and the tier of the other one counts.
            Tier::Fundamental => {
                assert!((!meta.effect.is_write() || entry.carries()) && meta.mode == Mode::Allow, "{name}");
            }
            Tier::Advanced => assert!(meta.role > contract::meta::Role::ReadOnly, "{name}"),
            Tier::Professional => {
                assert!(meta.mode != Mode::Allow && meta.role == contract::meta::Role::Admin, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_host_hands_its_model_stays_small() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Http).await;
    let listed = wire.request("tools/list", json!({"limit": 200})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    assert!(listed.result().get("nextCursor").is_none());
    let size = |tool: &Value| {
        tool["name"].as_str().unwrap().len()
            + tool["description"].as_str().unwrap().len()
            + tool["inputSchema"].to_string().len()
    };
    let total: usize = tools.iter().map(size).sum();
    println!("{} tools, {total} bytes of names, descriptions and input schemas", tools.len());
    assert!(total < HANDED_OVER, "{total} bytes");
    let whole = listed.result().to_string().len();
    println!("{whole} bytes of list");
    assert!(whole < LISTED, "{whole} bytes");
    // Not bounded yet: it is printed, so that a change is seen.
    let pi = Pi::standard(allow_everything).await;
    let listed = pi.on(Door::Stdio).await.request("tools/list", json!({"limit": 200})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    let (handed_over, whole) = (tools.iter().map(size).sum::<usize>(), listed.result().to_string().len());
    println!("a caller who may do all: {} tools, {handed_over} bytes handed over, {whole} listed", tools.len());
}

/// Tools of things that a host which runs tests may lack; they have tests of their own where there are such things.
const NEEDS: &[&str] = &[
    "network.list_connections",
    "network.ping",
    "service.list_services",
    "service.get_status",
    "service.validate_unit_file",
    "system.list_packages",
];

/// Arguments for a real call, where the fewest are not enough or would do too much.
pub fn arguments(entry: &'static ToolRow) -> Value {
    let mut args = match entry.name() {
        "tools.describe" => json!({"names": ["system.reboot", "gpio_write_pin"]}),
        "tools.run" | "tools.run_read" => json!({"name": "system.get_clock", "arguments": "{}"}),
        "tools.search" => json!({"query": "reboot"}),
        "process.get_process_details" => json!({"pid": std::process::id()}),
        // One of the simulated machine's.
        "process.send_signal" => json!({"pid": 4242}),
        "exec.run" => json!({"command": "echo"}),
        "metrics.start_sampling_job" => json!({"interval_seconds": 60}),
        "metrics.stop_sampling_job" => json!({"job_id": "contract"}),
        "metrics.query_history" => json!({"metric_names": ["cpu_percent"], "start_time": "2026-01-01T00:00:00Z"}),
        // Nothing is scheduled: nothing is taken back, and nothing restarts.
        "network.activate_connection" => json!({"connection": "simulated-static"}),
        "network.add_connection" => json!({"connection": "contract", "ssid": "simulated", "activate": false}),
        "network.update_connection" => json!({"connection": "simulated-wifi", "passphrase": "contract"}),
        // Nothing was changed: nothing is taken back.
        "network.confirm_connection" => json!({"keep": false}),
        "network.ping" => json!({"address": "127.0.0.1", "count": 1}),
        // The simulated board's EEPROM.
        "i2c.scan_bus" => json!({"bus": 1}),
        "i2c.identify" => json!({"bus": 1, "address": 118}),
        "i2c.read" => json!({"bus": 1, "address": 80, "length": 1}),
        "i2c.write" => json!({"bus": 1, "address": 80, "data": [0]}),
        "i2c.transfer" => json!({"bus": 1, "address": 80, "data": [0], "length": 1}),
        // The wire of the simulated board, which the rows before have opened.
        "spi.transfer" => json!({"bus": 0, "chip_select": 0, "data": [1]}),
        "onewire.read" => json!({"address": "28-0000075bcd15"}),
        "serial.list_ports" | "serial.open" | "serial.close" => json!({"port": "ttyAMA0"}),
        "serial.read" => json!({"port": "ttyAMA0", "timeout_ms": 0}),
        "serial.write" => json!({"port": "ttyAMA0", "text": "contract"}),
        "gpio.read_pin" | "gpio.release_pin" => json!({"pin": 17}),
        "gpio.wait_for_edge" => json!({"pin": 23, "timeout_ms": 1}),
        "gpio.configure_pin" => json!({"pin": 17, "mode": "output"}),
        "gpio.set_pwm" => json!({"pin": 18, "frequency_hz": 1000, "duty_cycle_percent": 50}),
        "gpio.write_pin" => json!({"pin": 17, "value": "high"}),
        "camera.get_photo" => json!({"name": PHOTO}),
        // The simulated board takes a second to draw and encode a large picture in a build for tests.
        "camera.capture" => json!({"width": 320, "height": 180}),
        "camera.take_photo" => json!({"resolution": "640x480"}),
        "files.write" => json!({"path": "a", "content": "", "overwrite": true}),
        "agents.spawn" => json!({"type": "process"}),
        // The first that agents.spawn gives here.
        "agents.send_task" => json!({"agent_id": "process_1", "type": "list_processes", "params": "{}"}),
        "agents.get_status" | "agents.shutdown" => json!({"agent_id": "process_1"}),
        "vector.search" => json!({"query": "pump"}),
        // The manual is not installed here.
        "vector.get_page" => json!({}),
        "system.set_timezone" => json!({"timezone": "UTC"}),
        "system.reboot" | "system.shutdown" => json!({"cancel": true}),
        _ => probe::good(&entry.input_schema())[0].clone(),
    };
    // Reads are of this host, which has a bus if it has anything; writes are of the simulated machine.
    if entry.meta.namespace() == "service" && args.get("service_name").is_some() {
        args["service_name"] = json!(if entry.meta.effect.is_write() { "web" } else { "dbus" });
    }
    if entry.meta.dry_run {
        args["dry_run"] = json!(true);
    }
    args
}

#[tokio::test]
async fn every_tool_answers_a_real_call_as_its_schema_says() {
    let mut web = Web::new();
    web.release("1.1.0", 11, "a system");
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        looks_at(settings, web.folder.path());
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    wire.call("metrics.start_sampling_job", json!({"interval_seconds": 3600, "job_id": "contract"})).await.ok();
    // That wants the plan of a preview, and then restarts the machine: tools/manage does both.
    let here = |entry: &&'static ToolRow| entry.name() != "manage.apply_os_updates";
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    // The halt comes last: nothing else would be done after it.
    let (halts, others): (Vec<_>, Vec<_>) =
        registry.rows().filter(here).partition(|entry| entry.name() == "manage.halt");
    for entry in others.into_iter().chain(halts) {
        let answer = wire.call(entry.name(), arguments(entry)).await;
        if NEEDS.contains(&entry.name()) && answer.is_refusal("capability_missing") {
            println!("{}: this host does not have what it needs", entry.name());
            continue;
        }
        let executed = oracle(&entry.output_schema());
        let listed = oracle(&contract::schema::projection(&entry.output_schema()));
        let faults: Vec<String> =
            executed.iter_errors(answer.ok()).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
        assert!(faults.is_empty(), "{}: {faults:#?}\n{:#}", entry.name(), answer.ok());
        assert!(listed.is_valid(answer.ok()), "{}: what is listed does not allow {:#}", entry.name(), answer.ok());
        let bare = wire.request(entry.name(), arguments(entry)).await;
        assert!(executed.is_valid(bare.result()), "{}", entry.name());
    }
}

#[tokio::test]
async fn every_tool_refuses_what_no_schema_allows() {
    let pi = Pi::standard(allow_everything).await;
    let mut wire = pi.on(Door::Stdio).await;
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        wire.call(entry.name(), json!({"no_such_parameter": 1})).await.failed("invalid_argument");
    }
}
