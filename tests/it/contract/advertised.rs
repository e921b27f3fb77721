//! Input schemas as they are listed: SDKs of models take them, and what they accept is accepted.

use super::{made::with_made, oracle, probe, tools::each};
use crate::support::served::Pi;
use contract::schema::Checker;
use raspi_mcp::registry::Registry;
use serde_json::{Value, json};
use std::fs;

/// Keywords in advertised input schemas: OpenAI's and Gemini's converters have all of them, or leave them out.
const KEYWORDS: &[&str] = &[
    "type",
    "description",
    "default",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "examples",
];

/// What is outside of the subset in this schema and those in it.
pub fn outside(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(words) = schema.as_object() else { return found.push(format!("{at}: {schema} is no object")) };
    let mut say = |what: &str| found.push(format!("{at}: {what}: {schema}"));
    for word in words.keys().filter(|word| !KEYWORDS.contains(&word.as_str())) {
        say(word);
    }
    let kind = schema["type"].as_str();
    match kind {
        None | Some("null") => say("has not exactly one type"),
        Some("object") if schema["additionalProperties"] != false => say("is an open object, or a free map"),
        Some("array") if !schema["items"].is_object() => say("does not say of what it is a list"),
        Some(_) => {}
    }
    if let Some(members) = schema.get("enum") {
        let texts = members.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string));
        if !texts || kind != Some("string") {
            say("has an enum of something else than texts");
        }
    }
    if schema.get("format").is_some_and(|format| format != "date-time") {
        say("has a format that Gemini does not know");
    }
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        outside(part, &format!("{at}/{name}"), found);
    }
    if schema["items"].is_object() {
        outside(&schema["items"], &format!("{at}[]"), found);
    }
}

#[test]
fn advertised_input_schemas_keep_to_what_sdks_take() {
    let mut found = Vec::new();
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).entries() {
        let (advertised, _) = entry.advertised();
        outside(&advertised, entry.name(), &mut found);
        assert_eq!(advertised["type"], "object", "{}", entry.name());
        // What has a default may be left out.
        each(&advertised, &mut |part| {
            for name in part["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(part["properties"].get(name).is_some(), "{}: {name}", entry.name());
                assert!(part["properties"][name].get("default").is_none(), "{}: {name}", entry.name());
            }
        });
        assert!(!advertised.to_string().contains("x-advertised"), "{}", entry.name());
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_sdks_do_not_take_is_found() {
    for bad in [
        json!({"type": ["string", "null"]}),
        json!({"type": "string", "enum": ["a", null]}),
        json!({"enum": ["a", 1]}),
        json!({"type": "integer", "enum": [1]}),
        json!({"anyOf": [{"type": "string"}]}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "array"}}}),
        json!({"type": "array", "items": {"type": "string", "format": "uuid"}}),
        json!({"type": "string", "const": "a"}),
        json!(true),
    ] {
        let mut found = Vec::new();
        outside(&bad, "", &mut found);
        assert!(!found.is_empty(), "{bad}");
    }
}

/// The whole point of a listing: who keeps to what it shows is not refused by the schema that is executed, nor by the parser.
#[test]
fn what_is_advertised_is_accepted() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let mut tried = 0;
    for entry in registry.entries() {
        let (advertised, accepts) = entry.advertised();
        let shown = oracle::oracle(&advertised);
        Checker::new(&advertised).unwrap_or_else(|error| panic!("{}: {error}", entry.name()));
        for args in probe::probes(&advertised).into_iter().filter(|args| shown.is_valid(args)) {
            tried += 1;
            if let Err(refused) = entry.prepare(args.clone()) {
                panic!("{}: {}: {refused}", entry.name(), probe::shown(&args));
            }
        }
        tried += with_made(entry.name(), &advertised, |args| {
            entry.prepare(args).map(drop).map_err(|refused| refused.to_string())
        });
        // Only what is wider stands apart, and it is wider; and what is secret, which SDKs have no word for.
        for (name, accepted) in accepts.iter().filter(|(_, accepted)| accepted["writeOnly"] != true) {
            let (wide, narrow) = (oracle::oracle(accepted), oracle::oracle(&advertised["properties"][name]));
            let more =
                probe::values(accepted).into_iter().filter(|value| wide.is_valid(value) && !narrow.is_valid(value));
            assert!(more.count() > 0, "{}: {name} accepts no more than is advertised", entry.name());
        }
    }
    println!("{tried} advertised probes");
    assert!(tried > 1000);
}

#[test]
fn what_was_accepted_before_there_was_a_subset_still_is() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    for (tool, args) in [
        ("gpio.write_pin", json!({"pin": 17, "value": 1})),
        ("gpio.write_pin", json!({"pin": 17, "value": 0.0})),
        ("gpio.configure_pin", json!({"pin": 17, "mode": "output", "value": 1})),
        ("files.write", json!({"path": "a", "content": "", "mode": 420})),
        ("files.write", json!({"path": "a", "content": "", "mode": "append"})),
        ("exec.run", json!({"command": "env", "env": {"A": "b"}})),
    ] {
        let (entry, _) = registry.resolve(tool).unwrap();
        entry.prepare(args.clone()).map(drop).unwrap_or_else(|refused| panic!("{tool} {args}: {refused}"));
    }
}

/// A default that is written by hand can be another than the parser's. Those that schemars makes come from the very function
/// that fills the argument in.
#[tokio::test]
async fn declared_defaults_come_from_the_parser() {
    fn sources(folder: &std::path::Path, visit: &mut impl FnMut(&std::path::Path, &str)) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, visit);
            } else {
                visit(&path, &fs::read_to_string(&path).unwrap_or_default());
            }
        }
    }
    let mut by_hand = Vec::new();
    sources(&super::here().join("src/tools"), &mut |path, text| {
        let count = text.matches("\"default\" =").count() + text.matches("\"default\":").count();
        by_hand.extend(std::iter::repeat_n(path.file_name().unwrap().to_string_lossy().into_owned(), count));
    });
    by_hand.sort();
    // Empty lists, which mean nothing is given, and pages, which are asked below.
    assert_eq!(by_hand, ["detailed_network_info.rs", "page.rs", "page.rs", "variables.rs", "variables.rs"]);
    let pi = Pi::standard(|_| {}).await;
    let page = pi.call("tools.search", json!({"query": "pin"})).await.ok()["pagination"].clone();
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let default = |tool: &str, name: &str| {
        registry.resolve(tool).unwrap().0.advertised().0["properties"][name]["default"].clone()
    };
    for name in ["limit", "offset"] {
        assert_eq!(default("tools.search", name), page[name], "{page}");
    }
    for (tool, name, value) in [
        ("process.list_processes", "sort_by", json!("pid")),
        ("process.list_processes", "sort_order", json!("asc")),
        ("logs.query_journal", "order", json!("newest_first")),
        ("network.ping", "family", json!("any")),
        ("gpio.configure_pin", "value", json!("low")),
        ("files.write", "create", json!(true)),
        ("files.write", "mkdirs", json!(true)),
        ("exec.run", "env", json!([])),
        // The configured one, which no schema knows.
        ("manage.update_server", "channel", Value::Null),
    ] {
        assert_eq!(default(tool, name), value, "{tool} {name}");
    }
}
