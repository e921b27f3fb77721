//! The bare method `tools.list`.

use crate::support::served::{Door, Pi};
use serde_json::{Value, json};

fn names(page: &Value) -> Vec<&str> {
    page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn it_lists_every_tool_in_pages_with_exactly_these_fields() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = wire.request("tools.list", json!({ "limit": 20, "cursor": cursor })).await;
        let page = page.result().clone();
        assert_eq!(page.as_object().unwrap().keys().collect::<Vec<_>>(), ["tools", "next_cursor"]);
        all.extend(names(&page).into_iter().map(str::to_owned));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
        assert_eq!(page["tools"].as_array().unwrap().len(), 20);
    }
    let registry = &pi.server().pipeline.registry;
    let mut known: Vec<String> = registry.entries().map(|entry| entry.name().replacen('.', "/", 1)).collect();
    known.sort();
    assert_eq!(all, known);
    let page =
        wire.request("tools.list", json!({ "filter": { "names": ["files/read", "gpio_read_pin", "no.such"] } })).await;
    assert_eq!(names(page.result()), ["files/read", "gpio/read_pin"]);
    let tool = &page.result()["tools"][0];
    let fields = [
        "name",
        "title",
        "description",
        "version",
        "input_schema",
        "output_schema",
        "tags",
        "auth_required",
        "rate_limit",
        "server",
        "enabled",
    ];
    assert_eq!(tool.as_object().unwrap().keys().collect::<Vec<_>>(), fields);
    assert_eq!(tool["server"], json!({ "id": "raspi-mcp", "transport": "stdio", "endpoint": null }));
    assert_eq!((&tool["version"], &tool["input_schema"]["type"]), (&json!("1.0.0"), &json!("object")));
    // Each is callable by that name.
    assert!(wire.request("system/get_clock", json!({})).await.result().is_object());
    for (filter, is) in [(json!({ "enabled": false }), false), (json!({ "enabled": true }), true)] {
        let page = wire.request("tools.list", json!({ "filter": filter, "limit": 200 })).await;
        let tools = page.result()["tools"].as_array().unwrap().clone();
        assert!(!tools.is_empty() && tools.iter().all(|tool| tool["enabled"] == is));
    }
    for wrong in [
        json!({ "limit": 0 }),
        json!({ "limit": 201 }),
        json!({ "cursor": "x" }),
        json!({ "page": 1 }),
        json!({ "filter": { "name": "x" } }),
    ] {
        wire.request("tools.list", wrong).await.fault(-32602);
    }
}
