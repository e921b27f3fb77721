//! Declared bounds are the real ones: at each edge the tool itself finds no fault with the argument, beyond it it does.

use super::{oracle, tools::arguments};
use crate::support::served::Pi;
use crate::support::settings::allow_everything;
use base::error::{ErrorCode, ToolError};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use raspi_mcp::registry::{Registry, entry::Entry, pipeline::Call, row::ToolRow};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// What runs longer has accepted its arguments.
const ENOUGH: Duration = Duration::from_millis(250);

/// Arguments beside which every property means something.
fn base(entry: &'static ToolRow, property: &str) -> Value {
    match entry.name() {
        "gpio.write_pin" if property == "interval_ms" => json!({"pin": 4, "value": "high", "repeat": 1}),
        "system.get_detailed_network_info" => json!({"include_connections": true}),
        "files.read" => json!({"path": "a"}),
        _ => arguments(entry),
    }
}

/// Values at the bounds of a property, and just beyond them.
fn edges(name: &str, property: &Value) -> (Vec<Value>, Vec<Value>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (bound, step) in [("minimum", -1), ("maximum", 1)] {
        if let Some(edge) = property[bound].as_i64() {
            inside.push(json!(edge));
            outside.push(json!(edge + step));
        }
    }
    for (bound, step) in [("minLength", -1), ("maxLength", 1)] {
        let Some(edge) = property[bound].as_i64() else { continue };
        // No name in a path has more than 255 letters.
        let pattern = if name == "path" { "x/" } else { "xx" };
        let text = |length: i64| {
            let length = usize::try_from(length).unwrap_or_default();
            json!(pattern.repeat(length).chars().take(length).collect::<String>())
        };
        inside.push(text(edge));
        outside.extend((edge + step >= 0).then(|| text(edge + step)));
    }
    (inside, outside)
}

async fn judged(pi: &Pi, entry: &'static ToolRow, args: Value) -> Result<(), ToolError> {
    let call = Call {
        entry: Arc::new(Entry::from(entry)),
        caller: Arc::new(Caller::new("edges", Role::Admin, Transport::Stdio)),
        args,
        request_id: "1".into(),
        correlation_id: None,
        cancel: Default::default(),
        progress: Default::default(),
        peer: None,
        alias: None,
    };
    let server = pi.server();
    match tokio::time::timeout(ENOUGH, server.pipeline.run(call)).await {
        Ok(finished) => finished.result.map(drop),
        Err(_) => Ok(()),
    }
}

/// Refused for what there is, not for a bound: the profile is for another interface, no journal has that line, the file ends before,
/// these are not the bytes of `path`.
const FACTS: &[(&str, &str)] = &[
    ("network.activate_connection", "device"),
    ("logs.query_journal", "cursor"),
    ("files.read", "offset"),
    ("files.read", "path_base64"),
    ("files.list", "path_base64"),
    ("files.write", "path_base64"),
    ("files.delete", "path_base64"),
];

/// Restarts are for the tests of power.
const APART: &[&str] = &["system.reboot", "system.shutdown"];

#[tokio::test]
async fn every_declared_bound_is_the_real_one() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.limits.reads_per_minute = 10_000;
        settings.limits.writes_per_minute = 10_000;
    })
    .await;
    let (mut tried, mut told) = (0, Vec::new());
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows().filter(|entry| !APART.contains(&entry.name())) {
        for (name, property) in entry.input_schema()["properties"].as_object().unwrap() {
            let (inside, outside) = edges(name, property);
            let with = |value: &Value| {
                let mut args = base(entry, name);
                args[name.as_str()] = value.clone();
                args
            };
            for value in inside.iter().filter(|value| oracle(property).is_valid(value)) {
                tried += 1;
                if let Err(error) = judged(&pi, entry, with(value)).await
                    && !FACTS.contains(&(entry.name(), name.as_str()))
                    && (error.code == ErrorCode::InvalidArgument || error.details.contains_key("limit_per_minute"))
                {
                    told.push(format!("{} refuses {name} = {:.80}: {error}", entry.name(), value.to_string()));
                }
            }
            for value in &outside {
                tried += 1;
                match judged(&pi, entry, with(value)).await {
                    Err(error) if error.code == ErrorCode::InvalidArgument => {
                        assert_eq!(error.details["path"], format!("/{name}"), "{}", entry.name());
                    }
                    other => told.push(format!("{} takes {name} = {:.80}: {other:?}", entry.name(), value.to_string())),
                }
            }
        }
    }
    println!("{tried} values at edges");
    assert!(tried > 200 && told.is_empty(), "{tried} tried\n{}", told.join("\n"));
}

#[tokio::test]
async fn reserved_addresses_are_outside_the_declared_bounds() {
    for tool in ["i2c.identify", "i2c.read", "i2c.write", "i2c.transfer"] {
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        let (entry, _) = registry.resolve(tool).unwrap();
        let address = &entry.input_schema()["properties"]["address"];
        assert_eq!((&address["minimum"], &address["maximum"]), (&json!(8), &json!(119)), "{tool}");
    }
}

#[tokio::test]
async fn a_name_of_a_service_may_be_as_long_as_declared_with_and_without_its_suffix() {
    let pi = Pi::standard(allow_everything).await;
    let longest = 255 - ".service".len();
    for (name, code) in [
        ("x".repeat(longest), "not_found"),
        (format!("{}.service", "x".repeat(longest - 8)), "not_found"),
        (format!("x@{}", "x".repeat(longest - 2)), "not_found"),
        ("x".repeat(longest + 1), "invalid_argument"),
        (format!("x@{}", "x".repeat(longest - 1)), "invalid_argument"),
    ] {
        for (tool, args) in [
            ("service.start", json!({})),
            ("service.stop", json!({})),
            ("service.restart", json!({})),
            ("service.control_service", json!({"action": "stop"})),
            ("service.set_enabled", json!({"enabled": false})),
        ] {
            let mut args = args;
            args["service_name"] = json!(name);
            let answer = pi.call(tool, args).await;
            let error = answer.failed(code);
            assert_eq!(error["details"]["parameter"].as_str().unwrap_or("service_name"), "service_name", "{tool}");
        }
    }
}
