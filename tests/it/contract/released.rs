//! What was released is still served: the schemas and error codes of `schemas/.released`.

use super::{committed, files, here, widens};
use base::error::ErrorCode;
use raspi_mcp::registry::{Registry, listing::descriptor, names::ToolNameError};
use serde_json::{Map, Value, json};
use std::{fs, path::Path};

/// The error table, below `schemas/`.
pub const ERRORS: &str = "errors.json";

/// The codes of docs/contract/errors.md, by `error_code`.
fn errors() -> Value {
    let row = |code: &ErrorCode| {
        let numbers = json!({
            "code": code.constant(), "json_rpc": code.rpc(), "slash_form": code.number(), "http_status": code.http(),
        });
        (code.symbol().to_owned(), numbers)
    };
    Value::Object(ErrorCode::ALL.iter().map(row).collect::<Map<_, _>>())
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every code of `old` that `new` does not have, or has with other numbers.
fn broken(old: &Value, new: &Value) -> Vec<String> {
    let codes = old.as_object().unwrap().iter().filter(|(name, numbers)| new.get(name.as_str()) != Some(*numbers));
    codes.map(|(name, numbers)| format!("error code {name} was {numbers}, is {}", new[name])).collect()
}

/// Every promise of the descriptor `old` that `registry` does not keep. The version before the newest is kept beside it.
fn unkept(registry: &Registry, old: &Value) -> Vec<String> {
    let (name, version) = (old["name"].as_str().unwrap(), old["_meta"]["schemaVersion"].as_u64().unwrap());
    match registry.resolve(&format!("{name}@{version}")) {
        Ok((entry, _)) => widens::broken(old, &descriptor(&entry)),
        Err(ToolNameError::Version { has, .. }) if has.iter().all(|has| u64::from(*has) > version + 1) => Vec::new(),
        Err(_) => vec![format!("{name}@{version} is gone")],
    }
}

#[test]
fn the_committed_error_codes_are_those_of_this_build() {
    committed(&here().join("schemas").join(ERRORS), &format!("{:#}\n", errors())).unwrap();
}

#[test]
fn what_was_released_is_still_true() {
    let folder = here().join("schemas/.released");
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let (mut found, mut tools) = (broken(&read(&folder.join(ERRORS)), &errors()), 0);
    for path in files(&folder).into_iter().filter(|path| !path.ends_with(ERRORS)) {
        tools += 1;
        found.extend(unkept(&registry, &read(&path)));
    }
    assert!(tools > 60, "a release copies schemas/ to schemas/.released: there are {tools} tools");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn broken_promises_are_found() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let good = || read(&here().join("schemas/.released/gpio/write_pin.json"));
    assert!(unkept(&registry, &good()).is_empty());
    // What the release had, and this build has not.
    let mut accepted_more = good();
    accepted_more["inputSchema"]["properties"]["colour"] = json!({"type": "string"});
    let mut answered_more = good();
    answered_more["outputSchema"]["properties"]["colour"] = json!({"type": "string"});
    answered_more["outputSchema"]["required"].as_array_mut().unwrap().push(json!("colour"));
    let mut other_version = good();
    other_version["_meta"]["schemaVersion"] = json!(2);
    let mut other_name = good();
    other_name["name"] = json!("gpio.paint_pin");
    for old in [accepted_more, answered_more, other_version, other_name] {
        assert!(!unkept(&registry, &old).is_empty(), "{old:#}");
    }
    let mut other_number = errors();
    other_number["not_found"]["json_rpc"] = json!(-1);
    let mut gone = errors();
    gone["out_of_paint"] = json!({});
    assert!(!broken(&other_number, &errors()).is_empty() && !broken(&gone, &errors()).is_empty());
}
