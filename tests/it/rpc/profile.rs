//! `tools.profile`: which tools `tools/list` gives.

use crate::support::{
    served::{Door, Pi, Wire},
    settings::allow_everything,
};
use contract::{config::Profile, meta::Listing};
use serde_json::{Value, json};

/// Most bytes of the list for a caller that may do everything, as a host hands it to a model: about 8,000 tokens.
const LARGEST: usize = 32_000;

async fn list(wire: &mut Wire, params: Value) -> Vec<Value> {
    wire.request("tools/list", params).await.result()["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|tool| tool["_meta"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_default_profile_is_short_and_says_how_to_reach_the_rest() {
    let pi = Pi::standard(allow_everything).await;
    let mut wire = pi.on(Door::Stdio).await;
    let tools = list(&mut wire, json!({})).await;
    // What a model is given of a tool.
    let given = |tool: &Value| {
        let parts = ["name", "description", "inputSchema"];
        parts.map(|part| tool[part].to_string().len()).iter().sum::<usize>()
    };
    let bytes: usize = tools.iter().map(given).sum();
    println!("{} tools, {bytes} bytes", tools.len());
    assert!((40..=48).contains(&tools.len()), "{} tools", tools.len());
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    assert!(
        readme.contains(&format!("a listing of {}", tools.len())),
        "README.md has another number than {}",
        tools.len()
    );
    assert!(bytes <= LARGEST, "{bytes} bytes");
    let listed = names(&tools);
    for row in pi.server().pipeline.registry.rows() {
        let is_listed = listed.contains(&row.name().to_owned());
        assert_eq!(is_listed, row.meta.listing == Listing::Core, "{}", row.name());
        if !is_listed {
            let found = wire.call("tools.describe", json!({"names": [row.name()]})).await;
            let way = if row.meta.effect.is_write() { "tools.run" } else { "tools.run_read" };
            assert_eq!(found.ok()["tools"][0]["call_with"], way, "{}", row.name());
            let names = json!({"filter": {"names": [row.name()]}});
            assert_eq!(list(&mut wire, names).await.len(), 1, "{} is listed when it is asked for", row.name());
        }
    }
    let all = list(&mut wire, json!({"filter": {"enabled": true}})).await;
    assert_eq!(all.len(), pi.server().pipeline.registry.rows().count());
    let found = wire.call("tools.search", json!({"query": "clock"})).await;
    assert_eq!(found.ok()["tools"][0]["call_with"], "tools.run_read");
}

#[tokio::test]
async fn with_everything_listed_nothing_runs_other_tools() {
    let pi = Pi::standard(|settings| {
        allow_everything(settings);
        settings.tools.profile = Profile::All;
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let listed = names(&list(&mut wire, json!({})).await);
    for row in pi.server().pipeline.registry.rows() {
        assert_eq!(listed.contains(&row.name().to_owned()), !row.carries(), "{}", row.name());
    }
    let found = wire.call("tools.search", json!({"query": "clock"})).await;
    assert!(found.ok()["tools"][0].get("call_with").is_none());
}

#[tokio::test]
async fn a_caller_that_only_reads_is_not_given_what_runs_writes() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Http).await;
    let listed = names(&list(&mut wire, json!({})).await);
    let has = |name: &str| listed.iter().any(|listed| listed == name);
    assert!(has("tools.run_read") && !has("tools.run") && !has("system.get_clock"), "{listed:?}");
}

#[tokio::test]
async fn what_the_owner_opened_by_name_is_listed() {
    let (pi, _) = Pi::of_site(&[(
        "10-site.toml",
        "[access]\nstdio_role = \"ops_rw\"\n[[tools.allow]]\ntool = \"service.restart\"\nunits = [\"web.service\"]\n",
    )])
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let listed = names(&list(&mut wire, json!({})).await);
    assert!(listed.contains(&"service.restart".to_owned()), "{listed:?}");
    assert!(!listed.contains(&"service.start".to_owned()) && !listed.contains(&"system.get_clock".to_owned()));
}
