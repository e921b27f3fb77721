//! What a search answers, and to whom.

use super::{becomes, denied, found, indexed, with};
use crate::support::served::Door;
use contract::meta::{Mode, Role};
use serde_json::{Value, json};

const NOTE: &str =
    "# The pump\n\nIt runs at night.\n\n## Faults\n\nIt crashed when the valve closed.\nReplace the valve first.\n";

#[tokio::test]
async fn a_passage_has_its_lines_its_etag_and_every_field_of_the_contract() {
    let files = indexed().await;
    files.has("diary/pump.md", NOTE);
    becomes(&files, "valves crashing", &["data:diary/pump.md"]).await;
    let answer = files.call("vector.search", json!({ "query": "valves crashing", "namespace": "data" })).await;
    let read = files.call("files.read", json!({ "path": "diary/pump.md", "root": "data" })).await;
    let first = &answer.ok()["matches"][0];
    assert_eq!(
        first["metadata"],
        json!({
            "path": "data:diary/pump.md", "line_start": 7, "line_end": 8, "lang": "markdown", "commit": null, "shard_id": null,
            "etag": read.ok()["etag"], "tags": ["file", "markdown"],
            "snippet": "It crashed when the valve closed.\nReplace the valve first.",
        })
    );
    assert_eq!((&first["id"], &first["vector"]), (&json!("data:diary/pump.md#7"), &Value::Null));
    assert!((0.0..=1.0).contains(&first["score"].as_f64().unwrap()));
    assert_eq!(answer.ok()["usage"], json!({ "embedding_model": null, "embed_time_ms": null, "rerank_model": null }));
    // A slip of the fingers, and the slash form.
    becomes(&files, "vavle", &["data:diary/pump.md"]).await;
    let mut wire = files.pi.on(Door::Stdio).await;
    let bare = wire
        .request(
            "vector/search",
            json!({ "query": "valve", "namespace": "data", "rerank": true, "include_vectors": true }),
        )
        .await;
    assert_eq!(bare.result()["matches"][0]["metadata"]["path"], "data:diary/pump.md");
}

#[tokio::test]
async fn conditions_hold_and_what_is_wrong_is_refused() {
    let files = indexed().await;
    files.has("diary/pump.md", NOTE);
    files.has("code/pump.py", "print('pump')\n");
    becomes(&files, "print", &["data:code/pump.py"]).await;
    let in_files = |filter: Value| json!({ "query": "pump", "namespace": "data", "filter": filter });
    assert_eq!(found(&files, in_files(json!({ "path_prefix": "code/" }))).await, ["data:code/pump.py"]);
    assert_eq!(found(&files, in_files(json!({ "tags": ["python", "file"] }))).await, ["data:code/pump.py"]);
    for none in
        [json!({ "tags": ["python", "markdown"] }), json!({ "tags": ["manual"] }), json!({ "path_prefix": "cod%" })]
    {
        assert!(found(&files, in_files(none.clone())).await.is_empty(), "{none}");
    }
    assert_eq!(found(&files, json!({ "query": "pump", "namespace": "data", "top_k": 1 })).await.len(), 1);
    for wrong in [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": null }),
        json!({ "query": "pump", "top_k": 0 }),
        json!({ "query": "pump", "top_k": 51 }),
        json!({ "query": "pump", "filter": { "glob": "*" } }),
        json!({ "query": "pump", "cursor": "x" }),
    ] {
        files.call("vector.search", wrong).await.failed("invalid_argument");
    }
    let missing = files.call("vector.search", json!({ "query": "pump", "namespace": "docs" })).await;
    assert_eq!(missing.failed("not_found")["details"]["reason"], "NO_INDEX");
    let mut wire = files.pi.on(Door::Stdio).await;
    let vectors = json!({ "query": "pump", "embedding": [0.1, 0.2] });
    wire.request("vector/search", vectors.clone()).await.fault(1010);
    wire.request("vector/search", json!({})).await.fault(1003);
    files.call("vector.search", vectors).await.failed("unavailable");
    // The tools themselves are found by what they do.
    let tools = found(&files, json!({ "query": "restart the machine", "namespace": "tools" })).await;
    assert!(tools.contains(&"tools:system.reboot".to_owned()), "{tools:?}");
}

#[tokio::test]
async fn nobody_learns_of_files_what_files_read_would_not_show() {
    for hidden in 0..3 {
        let files = with(|settings| match hidden {
            0 => denied(settings, "files.read", Mode::Deny),
            1 => denied(settings, "files.read", Mode::Ask),
            _ => drop(settings.tools.disable.insert("files".into())),
        })
        .await;
        let before = files.call("vector.search", json!({ "query": "restart pump", "top_k": 50 })).await;
        for number in 0..30 {
            files.has(&format!("{number}.txt"), "pump restart heatpumps\n");
        }
        // It is indexed, and nobody sees it.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let after = files.call("vector.search", json!({ "query": "restart pump", "top_k": 50 })).await;
        assert_eq!(before.ok(), after.ok(), "{hidden}");
        files.call("vector.search", json!({ "query": "pump", "namespace": "data" })).await.failed("not_found");
        let status = files.call("vector.get_status", json!({})).await;
        assert_eq!(status.ok()["files"], json!({ "state": "no_index", "skipped": 0, "left_out": 0 }));
        assert!(!status.ok()["namespaces"].to_string().contains("data"), "{}", status.ok());
    }
}

#[tokio::test]
async fn without_an_index_the_tools_are_found_and_a_rebuild_says_what_to_do() {
    let files = crate::support::files::Files::with(|settings| {
        settings.tools.enable.insert("vector".into());
        settings.access.stdio_role = Role::Admin;
    })
    .await;
    files.has("pump.txt", "pump\n");
    assert!(found(&files, json!({ "query": "blink an LED" })).await.iter().all(|path| path.starts_with("tools:")));
    let refused = files.call("vector.rebuild", json!({})).await;
    assert_eq!(refused.failed("failed_precondition")["details"]["reason"], "NO_INDEX");
    let status = files.call("vector.get_status", json!({})).await;
    assert_eq!(status.ok()["files"]["state"], "no_index");
}
