//! What a search must not tell: words of the audit and of files outside the indexed roots.

use super::{becomes, found, with};
use crate::support::served::Door;
use contract::meta::Role;
use serde_json::json;
use std::fs;

/// A word of the audit is in no index, and the many lines there change no score.
#[tokio::test]
async fn an_audit_line_is_not_found_and_changes_nothing() {
    let files = with(|settings| settings.access.stdio_role = Role::Admin).await;
    files.has("pump.txt", "the pump runs at night\n");
    becomes(&files, "pump", &["data:pump.txt"]).await;
    let ask =
        async |query: &str| files.call("vector.search", json!({ "query": query, "top_k": 50 })).await.ok().clone();
    let before = ask("pump night").await;
    let mut wire = files.pi.on(Door::Stdio).await;
    for _ in 0..30 {
        wire.call("tools.search", json!({ "query": "quokkazilla pump night" })).await.ok();
    }
    let told = files.pi.audited(|record| record.to_string().contains("quokkazilla")).await;
    assert_eq!(told["tool"], "tools.search");
    assert_eq!(ask("quokkazilla").await["matches"], json!([]));
    assert_eq!(ask("quokkazill").await["matches"], json!([]), "nor is its spelling known");
    assert_eq!(ask("pump night").await, before);
}

/// Beside the roots, and in the one that is not indexed.
#[tokio::test]
async fn files_outside_change_no_score() {
    let files = with(|_| {}).await;
    files.has("pump.txt", "the pump runs at night\n");
    files.has("valve.txt", "the valve runs by day\n");
    becomes(&files, "pump", &["data:pump.txt"]).await;
    becomes(&files, "valve", &["data:valve.txt"]).await;
    let in_files = json!({ "query": "pump valve runs", "namespace": "data" });
    let before = files.call("vector.search", in_files.clone()).await.ok().clone();
    for number in 0..30 {
        fs::write(files.outside(&format!("{number}.txt")), "pump pump valve quokkazilla\n").unwrap();
        fs::write(files.docs(&format!("{number}.txt")), "pump pump valve quokkazilla\n").unwrap();
    }
    // What comes after them is indexed, so they would be.
    files.has("last.txt", "okapi\n");
    becomes(&files, "okapi", &["data:last.txt"]).await;
    fs::remove_file(files.data("last.txt")).unwrap();
    becomes(&files, "okapi", &[]).await;
    assert_eq!(files.call("vector.search", in_files).await.ok(), &before);
    assert!(found(&files, json!({ "query": "quokkazilla" })).await.is_empty());
}
