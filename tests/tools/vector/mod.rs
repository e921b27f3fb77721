//! `vector.*`: the contract of search, what is shown to whom, and an index that follows its files.

mod follow;
mod leaks;
mod manual;
mod search;

use crate::support::files::Files;
use contract::{config::Settings, meta::Mode};
use serde_json::{Value, json};
use std::time::Duration;

/// A server whose root `data` is indexed.
async fn indexed() -> Files {
    with(|_| {}).await
}

async fn with(change: impl FnOnce(&mut Settings)) -> Files {
    Files::with(|settings| {
        settings.files.roots[0].index = true;
        settings.tools.enable.insert("vector".into());
        change(settings);
    })
    .await
}

/// The paths that a search finds.
async fn found(files: &Files, args: Value) -> Vec<String> {
    let answer = files.call("vector.search", args).await;
    let matches = answer.ok()["matches"].as_array().unwrap();
    matches.iter().map(|found| found["metadata"]["path"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a search in the files finds these paths.
async fn becomes(files: &Files, query: &str, wanted: &[&str]) {
    let mut last = Vec::new();
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            last = found(files, json!({ "query": query, "filter": { "tags": ["file"] } })).await;
            if last == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let waited = waited.await.is_ok();
    assert!(waited, "{query}: {last:?}, wanted {wanted:?}");
}

fn denied(settings: &mut Settings, tool: &str, mode: Mode) {
    settings.policy.insert(tool.to_owned(), mode);
}
