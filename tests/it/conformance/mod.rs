//! The fixtures of the conformance suite: what they add, and that they stay on this machine. The official suite judges the rest.

mod converse;
mod modern;
mod tasks;

use crate::support::fixtures::{self, FIXTURES};
use crate::support::served::{Door, Pi};
use contract::config::{Places, Settings};
use raspi_mcp::{
    cli::exit::Exit,
    registry::{Registry, entry::Entry, listing::descriptor},
};
use serde_json::{Value, json};

#[test]
fn fixtures_are_tools_like_all_others_but_for_their_results() {
    let standard = Registry::new(raspi_mcp::tools::NAMESPACES).rows().count();
    assert_eq!(fixtures::registry().entries().count(), standard + FIXTURES.len());
    for entry in FIXTURES {
        let descriptor = descriptor(&Entry::from(entry));
        assert_eq!(descriptor.get("outputSchema"), None, "{}", entry.name());
        assert_eq!(descriptor["inputSchema"]["type"], "object", "{}", entry.name());
        jsonschema::validator_for(&descriptor["inputSchema"]).expect("a schema");
        assert!(entry.meta.description.ends_with('.'), "{}", entry.name());
    }
}

#[tokio::test]
async fn a_schema_of_2020_12_is_listed_as_it_is_and_kept() {
    let pi = Pi::with_fixtures().await;
    let mut wire = pi.on(Door::Stdio).await;
    let list = wire.request("tools/list", json!({"limit": 200})).await;
    let tools = list.result()["tools"].as_array().unwrap();
    let schema = &tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").unwrap()["inputSchema"];
    for (pointer, value) in [
        ("/$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("/$defs/address/$anchor", json!("address")),
        ("/properties/address/$ref", json!("#/$defs/address")),
        ("/then/properties/address/required", json!(["street"])),
        ("/else/required", json!(["name"])),
        ("/additionalProperties", json!(false)),
    ] {
        assert_eq!(schema.pointer(pointer), Some(&value), "{pointer}");
    }
    let answer = wire.call("json_schema_2020_12_tool", json!({"name": "Ada"})).await;
    assert_eq!(answer.result()["content"][0]["text"], "Hello, Ada!");
    wire.call("json_schema_2020_12_tool", json!({"address": {"city": "Ulm"}})).await.failed("invalid_argument");
}

#[tokio::test]
async fn content_comes_as_it_is_and_failures_as_everywhere() {
    let pi = Pi::with_fixtures().await;
    for mut wire in pi.every_door().await {
        let answer = wire.call("test_multiple_content_types", json!({})).await;
        let kinds: Vec<&Value> =
            answer.result()["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["text", "image", "resource"]);
        assert!(answer.meta()["execution_time_ms"].is_number() && answer.result().get("structuredContent").is_none());
        wire.call("test_error_handling", json!({})).await.failed("failed_precondition");
    }
}

/// `ci/parts/conformance` asks the program itself.
#[test]
fn fixtures_stay_on_this_machine_even_where_the_configuration_would_not() {
    let mut settings = Settings::default_for(&Places::below(std::path::Path::new("/nowhere")));
    assert!(fixtures::stay_local(&settings).is_ok());
    settings.http.listen = ([192, 0, 2, 1], 8765).into();
    let refusal = fixtures::stay_local(&settings).unwrap_err();
    assert!(refusal.exit == Exit::Config && refusal.message.contains("loopback"), "{}", refusal.message);
    settings.http.enabled = false;
    assert!(fixtures::stay_local(&settings).is_ok());
}
