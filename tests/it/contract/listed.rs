//! What a list shows of the contract: the committed descriptors, with output schemas that the committed ones imply.

use super::{made::with_made, oracle, probe, tools::each};
use crate::support::served::{Door, Pi};
use contract::{config::Profile, schema::projection};
use raspi_mcp::registry::{Registry, listing::descriptor, row::ToolRow};
use serde_json::{Value, json};

/// Why something that fits `whole` might not fit `part`, which has these keywords only.
pub fn not_implied(whole: &Value, part: &Value, at: &str, found: &mut Vec<String>) {
    for (word, value) in part.as_object().unwrap() {
        let of = |schema: &Value| match &schema["type"] {
            Value::String(one) => vec![json!(one)],
            Value::Array(many) => many.clone(),
            _ => Vec::new(),
        };
        let list = |schema: &Value| schema["required"].as_array().cloned().unwrap_or_default();
        let implied = match word.as_str() {
            "type" => !of(whole).is_empty() && of(whole).iter().all(|one| of(part).contains(one)),
            "required" => list(part).iter().all(|name| list(whole).contains(name)),
            "items" => {
                not_implied(&whole["items"], value, &format!("{at}[]"), found);
                whole.get("items").is_some()
            }
            "properties" => {
                for (name, part) in value.as_object().unwrap() {
                    not_implied(&whole["properties"][name], part, &format!("{at}/{name}"), found);
                }
                true
            }
            _ => false,
        };
        if !implied {
            found.push(format!("{at}: {word} {value}"));
        }
    }
}

#[test]
fn every_committed_output_schema_implies_its_projection() {
    let mut tried = 0;
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        let (whole, name) = (entry.output_schema(), entry.name());
        let part = projection(&whole);
        let mut found = Vec::new();
        not_implied(&whole, &part, name, &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
        // Every field of the first level is there, and nothing that is for people.
        assert!(
            whole["properties"].as_object().unwrap().keys().eq(part["properties"].as_object().unwrap().keys()),
            "{name}"
        );
        for word in ["description", "title", "minimum", "additionalProperties", "pattern", "default"] {
            each(&part, &mut |schema| assert!(schema[word].is_null() || schema[word].is_object(), "{name}: {word}"));
        }
        let by_part = oracle::oracle(&part);
        tried += with_made(name, &whole, |value| match by_part.is_valid(&value) {
            true => Ok(()),
            false => Err(probe::shown(&value)),
        });
    }
    println!("{tried} generated results");
    assert!(tried > 1000);
}

#[test]
fn a_projection_that_says_more_is_found() {
    let whole = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    for more in [
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        json!({"type": "object", "properties": {"b": {"type": "string"}}}),
        json!({"type": "object", "required": ["a"]}),
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"items": {}}}}),
    ] {
        let mut found = Vec::new();
        not_implied(&whole, &more, "", &mut found);
        assert!(!found.is_empty(), "{more}");
    }
}

#[tokio::test]
async fn the_list_shows_the_committed_descriptors() {
    let pi = Pi::standard(|settings| {
        crate::support::settings::allow_everything(settings);
        settings.tools.profile = Profile::All;
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let listed = wire.request("tools/list", json!({"limit": 200})).await;
    let tools = listed.result()["tools"].as_array().unwrap().clone();
    // With everything listed, there is no tool that only tools.run reaches.
    let listed = |row: &&ToolRow| !row.carries();
    assert_eq!(tools.len(), Registry::new(raspi_mcp::tools::NAMESPACES).rows().filter(listed).count());
    for tool in &tools {
        let (entry, _) = pi.server().pipeline.registry.resolve(tool["name"].as_str().unwrap()).unwrap();
        let committed = descriptor(&entry);
        for part in ["title", "description", "inputSchema", "annotations"] {
            assert_eq!(tool[part], committed[part], "{} {part}", entry.name());
        }
        assert_eq!(tool["outputSchema"], projection(&committed["outputSchema"]), "{}", entry.name());
        for (name, value) in committed["_meta"].as_object().unwrap() {
            assert_eq!(&tool["_meta"][name], value, "{} _meta.{name}", entry.name());
        }
        let mut names: Vec<&String> = tool.as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, ["_meta", "annotations", "description", "inputSchema", "name", "outputSchema", "title"]);
    }
}
