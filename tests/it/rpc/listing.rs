//! `tools/list`: pages, filters, spellings, roles.

use crate::support::served::{Door, Pi, Wire};
use contract::{config::ToolNames, meta::Role};
use serde_json::{Value, json};

/// Their canonical names.
fn names(result: &Value) -> Vec<String> {
    let tools = result["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["_meta"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Their names as they are listed.
async fn spelled(wire: &mut Wire) -> Vec<String> {
    let answer = wire.request("tools/list", json!({})).await;
    let tools = answer.result()["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn list(wire: &mut Wire, params: Value) -> Vec<String> {
    names(wire.request("tools/list", params).await.under(200).result())
}

#[tokio::test]
async fn pages_join_to_the_whole_list_whatever_their_size() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        let all = list(&mut wire, json!({})).await;
        assert!(all.contains(&"test.echo".to_owned()) && all.contains(&"tools.search".to_owned()));
        for limit in [1, 2, 3, 200] {
            let (mut seen, mut cursor) = (Vec::new(), Value::Null);
            loop {
                let mut params = json!({ "limit": limit });
                if !cursor.is_null() {
                    params["cursor"] = cursor;
                }
                let answer = wire.request("tools/list", params).await;
                let page = names(answer.result());
                assert!(!page.is_empty() && page.len() <= limit);
                seen.extend(page);
                cursor = answer.result()["nextCursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(seen, all, "{:?}, {limit} a page", wire.door);
        }
    }
}

#[tokio::test]
async fn filters_narrow_by_name_namespace_tag_and_whether_it_is_on() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for name in ["test.echo", "test_echo", "test/echo"] {
            assert_eq!(list(&mut wire, json!({"filter": {"names": [name]}})).await, ["test.echo"]);
        }
        let of_test = list(&mut wire, json!({"filter": {"names": ["test"]}})).await;
        assert!(of_test.len() > 3 && of_test.iter().all(|name| name.starts_with("test.")));
        let tagged = list(&mut wire, json!({"filter": {"tags": ["discovery"]}})).await;
        assert!(tagged.contains(&"tools.search".to_owned()) && !tagged.contains(&"test.echo".to_owned()), "{tagged:?}");
        let both = json!({"filter": {"tags": ["discovery"], "names": ["test"]}});
        assert!(list(&mut wire, both).await.is_empty());
        assert!(!list(&mut wire, json!({})).await.contains(&"test.write".to_owned()), "it is off");
    }
    let mut admin = pi.on(Door::Stdio).await;
    let off = list(&mut admin, json!({"filter": {"enabled": false}})).await;
    assert!(off.contains(&"test.write".to_owned()) && !off.contains(&"test.echo".to_owned()), "{off:?}");
}

#[tokio::test]
async fn each_role_is_shown_what_it_could_use() {
    let pi = Pi::with(|settings| settings.tools.enable.extend(["test".to_owned()])).await;
    let shown = [
        (Role::ReadOnly, vec!["test.echo"], vec!["test.write", "test.admin"]),
        (Role::OpsRw, vec!["test.echo", "test.write"], vec!["test.admin"]),
        (Role::Admin, vec!["test.echo", "test.write", "test.admin"], vec![]),
    ];
    for (role, yes, no) in shown {
        let mut wire = pi.stdio(contract::access::caller::Caller::new(
            role.name(),
            role,
            contract::access::caller::Transport::Stdio,
        ));
        let all = list(&mut wire, json!({})).await;
        assert!(yes.iter().all(|name| all.contains(&(*name).to_owned())), "{role:?}: {all:?}");
        assert!(!no.iter().any(|name| all.contains(&(*name).to_owned())), "{role:?}: {all:?}");
        // What is not shown is not run either, and the refusal names the role.
        for name in no {
            let refusal = wire.call(name, json!({})).await;
            let error = refusal.failed("permission_denied");
            assert_eq!(error["details"]["role"], role.name());
            assert!(error["details"]["required_role"].is_string());
            pi.audited(|record| record["tool"] == name && record["outcome"] == "permission_denied").await;
        }
    }
    assert_eq!(pi.bench.ran(), 0);
}

#[tokio::test]
async fn names_fit_every_models_api_except_for_clients_that_take_dots() {
    let pi = Pi::start().await;
    let clients = [("claude-ai", "test_echo"), ("mcp-remote", "test_echo"), ("conformance-test-client", "test.echo")];
    for (client, wanted) in clients {
        for mut wire in pi.on_all(&[Door::Stdio, Door::Unix, Door::Http, Door::Ws]).await {
            wire.initialize("2025-11-25", client).await.result();
            let all = spelled(&mut wire).await;
            assert!(all.contains(&wanted.to_owned()), "{client} over {:?}: {all:?}", wire.door);
            let fits = |name: &String| {
                name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            };
            assert!(wanted.contains('.') || all.iter().all(fits), "{all:?}");
            // Calls and filters take every form, whatever was listed.
            for form in ["test.echo", "test_echo"] {
                wire.call(form, json!({})).await.ok();
                assert_eq!(list(&mut wire, json!({"filter": {"names": [form]}})).await, ["test.echo"]);
            }
        }
    }
    // Who has not said a name may be anybody.
    for mut wire in pi.every_door().await {
        assert!(spelled(&mut wire).await.contains(&"test_echo".to_owned()), "{:?}", wire.door);
    }
    for (setting, wanted) in [(ToolNames::Underscored, "test_echo"), (ToolNames::Dotted, "test.echo")] {
        let pi = Pi::with(|settings| settings.tool_names = setting).await;
        let mut wire = pi.on(Door::Stdio).await;
        wire.initialize("2025-11-25", "claude-ai").await.result();
        assert!(spelled(&mut wire).await.contains(&wanted.to_owned()));
    }
}

#[tokio::test]
async fn a_modern_list_says_how_long_it_may_be_kept_and_by_whom() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        wire.modern("tools/list", None);
        let answer = wire.request("tools/list", crate::support::served::modern_meta(json!({}))).await;
        let result = answer.under(200).result();
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["cacheScope"], "private");
        assert!(result["ttlMs"].as_u64().unwrap() > 0);
        let called = {
            wire.modern("tools/call", Some("test.echo"));
            let params =
                crate::support::served::modern_meta(json!({"name": "test.echo", "arguments": {"text": "new"}}));
            wire.request("tools/call", params).await
        };
        assert_eq!(called.result()["resultType"], "complete", "{:?}", wire.door);
        assert_eq!(called.ok()["text"], "new");
    }
}
