//! Models with strict schemas send every property: null, or its default, for those they do not want.

use super::{probe, tools::arguments};
use crate::support::served::{Door, Pi};
use crate::support::settings::allow_everything;
use base::canonical;
use raspi_mcp::registry::Registry;
use serde_json::{Map, Value, json};

/// The properties that `args` has not, each with what `value` makes of its schema.
fn with_the_rest(schema: &Value, args: &Value, value: fn(&Value) -> Value) -> Value {
    let Value::Object(mut all) = args.clone() else { panic!("{args}") };
    for (name, property) in schema["properties"].as_object().unwrap() {
        if let Some(given) = all.get_mut(name) {
            if given.is_object() && property.get("properties").is_some() {
                *given = with_the_rest(property, given, value);
            }
        } else {
            all.insert(name.clone(), value(property));
        }
    }
    all.into()
}

fn null(_: &Value) -> Value {
    Value::Null
}

/// Its default; null where it has none.
fn default(property: &Value) -> Value {
    property.get("default").cloned().unwrap_or(Value::Null)
}

#[test]
fn null_counts_as_absent_for_whatever_may_be_left_out() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    for entry in registry.entries() {
        let schema = entry.input_schema();
        let [fewest, _] = probe::good(&schema);
        for filled in [with_the_rest(&schema, &fewest, null), with_the_rest(&schema, &fewest, default)] {
            if let Err(refused) = entry.prepare(filled.clone()) {
                panic!("{}: {filled}: {refused}", entry.name());
            }
        }
        // Approval and audit bind to what counts.
        let mut filled = with_the_rest(&schema, &fewest, null);
        entry.normalise(&mut filled);
        assert_eq!(canonical::sha256_hex(&filled), canonical::sha256_hex(&fewest), "{}", entry.name());
        // What has to be there is not absent, and what nobody knows is not known for being null.
        for name in fewest.as_object().unwrap().keys() {
            let mut without = fewest.clone();
            without[name] = Value::Null;
            let refused = entry.prepare(without).err().unwrap_or_else(|| panic!("{}: {name}", entry.name()));
            assert_eq!(refused.details["path"], format!("/{name}"), "{}", entry.name());
        }
        let mut unknown = fewest.clone();
        unknown["no_such_parameter"] = Value::Null;
        assert!(entry.prepare(unknown).is_err(), "{}", entry.name());
    }
}

#[test]
fn null_counts_as_absent_one_level_down_and_not_in_a_list_or_a_free_map() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let refused = |tool: &str, args: Value| {
        let (entry, _) = registry.resolve(tool).unwrap();
        entry.prepare(args).err().map(|error| error.details["path"].as_str().unwrap_or_default().to_owned())
    };
    let filter = json!({"filter": {"username": null, "name_pattern": "a*", "status": null, "min_memory_mb": null}});
    assert_eq!(refused("process.list_processes", filter), None);
    assert_eq!(
        refused("process.list_processes", json!({"filter": {"status": [null]}})).as_deref(),
        Some("/filter/status/0")
    );
    assert_eq!(refused("exec.run", json!({"command": "a", "args": [null]})).as_deref(), Some("/args/0"));
    assert_eq!(refused("exec.run", json!({"command": "a", "env": {"A": null}})).as_deref(), Some("/env/A"));
}

#[tokio::test]
async fn every_tool_runs_with_each_other_property_at_its_default_or_null() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.limits.reads_per_minute = 10_000;
        settings.limits.writes_per_minute = 10_000;
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let mut told: Vec<String> = Vec::new();
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).entries() {
        let (schema, args) = (entry.input_schema(), arguments(entry.row().unwrap()));
        for filled in [with_the_rest(&schema, &args, null), with_the_rest(&schema, &args, default)] {
            let answer = wire.call(entry.name(), filled.clone()).await;
            if answer.is_refusal("invalid_argument") {
                told.push(format!("{} {filled}: {}", entry.name(), answer.failed("invalid_argument")));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[tokio::test]
async fn the_audit_has_the_arguments_that_count() {
    let pi = Pi::standard(allow_everything).await;
    let mut wire = pi.on(Door::Stdio).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high", "duration_ms": null, "lease_seconds": null}))
        .await
        .ok();
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
    pi.audited(|record| record["tool"] == "gpio.write_pin").await;
    let records = pi.audit().await;
    let hashes: std::collections::BTreeSet<String> = records
        .iter()
        .filter(|record| record["tool"] == "gpio.write_pin")
        .map(|record| record["args_sha256"].to_string())
        .collect();
    assert_eq!(hashes.len(), 1, "{records:#?}");
    let expected: Map<String, Value> =
        [("pin".to_owned(), json!(17)), ("value".to_owned(), json!("high"))].into_iter().collect();
    assert_eq!(
        records.iter().find(|record| record["tool"] == "gpio.write_pin").unwrap()["args"],
        Value::Object(expected)
    );
}
