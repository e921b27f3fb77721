//! Two schema versions of one tool, side by side: `name@N` and `name@N-1`, each with its own parser.

use crate::support::served::{Door, Pi};
use serde_json::json;

#[tokio::test]
async fn each_version_has_its_own_arguments_and_the_newest_is_the_default() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        let new = json!({"words": ["a", "b", "c"]});
        let old = json!({"text": "a b"});
        for name in ["test.count", "test_count", "test/count", "test.count@2", "test_count@2"] {
            assert_eq!(wire.call(name, new.clone()).await.ok()["words"], 3, "{name}");
            assert_eq!(wire.request(name, new.clone()).await.result()["words"], 3, "{name}");
            wire.call(name, old.clone()).await.failed("invalid_argument");
        }
        for name in ["test.count@1", "test_count@1", "test/count@1"] {
            assert_eq!(wire.call(name, old.clone()).await.ok()["words"], 2, "{name}");
            assert_eq!(wire.request(name, old.clone()).await.result()["words"], 2, "{name}");
            wire.call(name, new.clone()).await.failed("invalid_argument");
        }
        let unknown = wire.request("tools/call", json!({"name": "test.count@3"})).await;
        let message = unknown.fault(-32602)["message"].as_str().unwrap().to_owned();
        assert!(message.contains("this server has test.count@1 and test.count@2"), "{message}");
    }
}

#[tokio::test]
async fn an_older_version_is_not_listed_and_is_described_when_it_is_asked_for() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Stdio).await;
    let listed = wire.request("tools/list", json!({"filter": {"names": ["test.count"]}})).await;
    let tools = listed.result()["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{tools:#?}");
    assert_eq!(tools[0]["_meta"]["schemaVersion"], 2);
    assert!(tools[0]["inputSchema"]["properties"].get("words").is_some());
    let described = wire.call("tools.describe", json!({"names": ["test.count@1"]})).await;
    let descriptor = &described.ok()["tools"][0]["descriptor"];
    assert_eq!(descriptor["_meta"]["schemaVersion"], 1);
    assert!(descriptor["inputSchema"]["properties"].get("text").is_some(), "{descriptor:#}");
    let capabilities = wire.call("manage.get_capabilities", json!({})).await;
    let versions = &capabilities.ok()["tool_namespaces"]["test"];
    assert_eq!(*versions, json!({"versions": ["1", "2"], "default": "2"}));
}
