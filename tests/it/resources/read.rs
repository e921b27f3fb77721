//! A resource is the answer of the tool behind it, with everything that holds for the tool.

use super::{content, conversation, modern, read};
use crate::support::served::{Door, Pi};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use raspi_mcp::{
    registry::Registry,
    resources::{Parameter, RESOURCES},
};
use serde_json::{Value, json};

fn uris(result: &Value, of: &str, field: &str) -> Vec<String> {
    result[of].as_array().unwrap().iter().map(|each| each[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_resource_and_its_tool_name_each_other_and_parameters_are_arguments() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    registry.set_namespace("routeros", raspi_mcp::tools::routeros::entries().unwrap()).unwrap();
    for resource in RESOURCES {
        let (entry, _) = registry.resolve(resource.tool).expect("a tool of that name");
        assert_eq!((entry.name(), entry.meta().resource_uri), (resource.tool, Some(resource.uri)));
        let schema = entry.input_schema();
        assert_eq!(resource.which.is_some(), resource.variable().is_some(), "{}", resource.uri);
        let wanted = |which: Parameter| if which.number { "integer" } else { "string" };
        assert!(
            resource.which.is_none_or(|which| schema["properties"][which.name]["type"] == wanted(which)),
            "{}",
            resource.uri
        );
        for parameter in resource.parameters {
            let argument = &schema["properties"][parameter.name];
            assert!(argument.is_object(), "{} has no {}", resource.tool, parameter.name);
            assert_eq!(parameter.number, argument["type"] == "integer", "{} {}", resource.uri, parameter.name);
        }
    }
    let named = registry.entries().filter(|entry| entry.meta().resource_uri.is_some()).count();
    assert_eq!(named, RESOURCES.len(), "a tool names a resource that is not there");
}

#[tokio::test]
async fn they_are_listed_and_hold_what_their_tools_answer() {
    let pi = Pi::start().await;
    for door in [Door::Stdio, Door::Unix, Door::Http, Door::Ws] {
        let mut wire = conversation(&pi, door).await;
        let list = wire.request("resources/list", json!({})).await;
        assert_eq!(
            uris(list.result(), "resources", "uri"),
            [
                "raspi://health",
                "raspi://capabilities",
                "raspi://audit",
                "raspi://logs/app",
                "raspi://gpio",
                "raspi://update",
                "raspi://sampling",
                "raspi://server"
            ]
        );
        assert!(list.result().get("ttlMs").is_none() && list.result().get("resultType").is_none(), "{list:#?}");
        let templates = wire.request("resources/templates/list", json!({})).await;
        assert_eq!(
            uris(templates.result(), "resourceTemplates", "uriTemplate"),
            [
                "raspi://audit{?tool,outcome,limit,offset}",
                "raspi://logs/app{?level,limit,offset}",
                "raspi://service/{name}",
                "raspi://gpio/{pin}",
                "raspi://serial/{port}",
                "raspi://docs/{path}"
            ]
        );
        wire.request("resources/list", json!({"cursor": "after-1"})).await.fault(-32602);

        assert!(read(&mut wire, "raspi://health").await["memory_total_bytes"].as_u64().unwrap() > 0);
        assert_eq!(read(&mut wire, "raspi://capabilities").await["board"]["simulated"], true);
        assert!(read(&mut wire, "raspi://logs/app?level=warn&limit=3").await["entries"].is_array());
        let record = read(&mut wire, "raspi://audit?tool=system.get_capabilities&limit=1").await["entries"][0].clone();
        assert_eq!((&record["tool"], &record["outcome"]), (&json!("system.get_capabilities"), &json!("ok")));
        // What goes with a tool's answer goes with a resource.
        let answer = wire.request("resources/read", json!({"uri": "raspi://capabilities"})).await;
        let meta = &answer.result()["contents"][0]["_meta"];
        assert_eq!((&meta["simulated"], &meta["resource_uri"]), (&json!(true), &json!("raspi://capabilities")));
    }
}

#[tokio::test]
async fn a_modern_client_is_told_how_long_it_may_keep_what_it_got() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for (method, uri) in [
            ("resources/list", None),
            ("resources/templates/list", None),
            ("prompts/list", None),
            ("resources/read", Some("raspi://health")),
            ("resources/read", Some("raspi://audit")),
        ] {
            let params = uri.map_or(json!({}), |uri| json!({ "uri": uri }));
            let answer = modern(&mut wire, method, uri, params).await;
            let result = answer.under(200).result();
            assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("private")));
            let ttl = result["ttlMs"].as_u64().unwrap_or_else(|| panic!("{method}: {answer:#?}"));
            assert_eq!(ttl == 0, uri == Some("raspi://audit"), "{method}");
        }
    }
}

#[tokio::test]
async fn an_address_that_holds_nothing_is_an_error_that_says_why() {
    let pi = Pi::start().await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    for uri in ["raspi://nothing", "test://static-text", "file:///etc/shadow"] {
        let answer = wire.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(answer.fault(-32002)["data"]["uri"], uri);
        let answer = modern(&mut pi.on(Door::Http).await, "resources/read", Some(uri), json!({ "uri": uri })).await;
        assert_eq!(answer.fault(-32602)["data"]["uri"], uri);
    }
    // A page that is not there, wherever it would be.
    for uri in
        ["raspi://docs/none.md", "raspi://docs/../../../../etc/passwd", "raspi://docs/..%2F..%2F..%2Fetc%2Fpasswd"]
    {
        let answer = wire.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(answer.fault(-32003)["data"]["error_code"], "not_found", "{uri}");
    }
    for (uri, says) in [
        ("raspi://health?level=warn", "level"),
        ("raspi://logs/app?level=loud", "/level"),
        ("raspi://logs/app?limit=0", "/limit"),
        ("raspi://audit?limit=ten", "/limit"),
    ] {
        let answer = wire.request("resources/read", json!({ "uri": uri })).await;
        let data = answer.fault(-32602)["data"].to_string();
        assert!(data.contains(says), "{uri}: {data}");
    }
}

#[tokio::test]
async fn policy_rate_and_audit_hold_for_resources_as_for_their_tools() {
    let pi = Pi::with(|settings| {
        settings.tools.disable.insert("logs.get_recent_app_logs".into());
        settings.limits.reads_per_minute = 3;
    })
    .await;
    let mut wire = conversation(&pi, Door::Stdio).await;
    let list = wire.request("resources/list", json!({})).await;
    assert!(!uris(list.result(), "resources", "uri").contains(&"raspi://logs/app".to_owned()), "it is off");
    let answer = wire.request("resources/read", json!({"uri": "raspi://logs/app"})).await;
    assert_eq!(answer.fault(-32001)["data"]["error_code"], "permission_denied");
    pi.audited(|record| record["tool"] == "logs.get_recent_app_logs" && record["outcome"] == "permission_denied").await;

    for _ in 0..2 {
        read(&mut wire, "raspi://capabilities").await;
    }
    // One bucket for both ways.
    wire.call("system.get_capabilities", json!({})).await.ok();
    let answer = wire.request("resources/read", json!({"uri": "raspi://capabilities"})).await;
    assert_eq!(answer.fault(-32005)["data"]["details"]["limit_per_minute"], 3);
}

#[tokio::test]
async fn below_admin_the_audit_holds_ones_own_calls() {
    let pi = Pi::start().await;
    pi.call("test.echo", json!({"text": "secret plan"})).await.ok();
    let mut guest = pi.stdio(Caller::new("guest", Role::ReadOnly, Transport::Stdio));
    guest.initialize("2025-11-25", "a client").await.result();
    let own = read(&mut guest, "raspi://audit").await;
    assert_eq!((&own["scope"], own["entries"].as_array().unwrap().len()), (&json!("own"), 0), "{own:#}");
    let mut admin = conversation(&pi, Door::Stdio).await;
    let all = read(&mut admin, "raspi://audit?tool=test.echo").await;
    assert_eq!((&all["scope"], &all["entries"][0]["tool"]), (&json!("all"), &json!("test.echo")));
}

#[tokio::test]
async fn a_read_can_be_cancelled_and_is_answered_once() {
    let pi = Pi::start().await;
    for door in Door::STREAMS {
        let mut wire = conversation(&pi, door).await;
        // The first snapshot takes a quarter of a second, to measure.
        let id = wire.ask("resources/read", json!({"uri": "raspi://health"}));
        wire.notify("notifications/cancelled", json!({"requestId": id}));
        let answer = wire.answer_to(id).await;
        if answer.message.get("error").is_some() {
            answer.fault(-32011);
        } else {
            content(&answer, "raspi://health");
        }
        wire.request("ping", json!({})).await.result();
        assert!(wire.seen.iter().all(|seen| *seen.id() != json!(id)), "{:#?}", wire.seen);
    }
}
