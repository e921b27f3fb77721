//! `tools.describe`: everything about tools that a list shows in part.

use crate::support::served::{Door, Pi};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use raspi_mcp::registry::{Registry, listing::descriptor};
use serde_json::json;

#[tokio::test]
async fn the_whole_descriptor_comes_with_what_this_caller_may_do() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Http).await;
    let answer =
        wire.call("tools.describe", json!({"names": ["gpio_write_pin", "system/get_clock", "exec.run@1"]})).await;
    let tools = answer.ok()["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["gpio.write_pin", "system.get_clock", "exec.run"]);
    for tool in tools {
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        let (entry, _) = registry.resolve(tool["name"].as_str().unwrap()).unwrap();
        let promised = descriptor(&entry);
        for (part, value) in promised.as_object().unwrap().iter().filter(|(part, _)| *part != "_meta") {
            assert_eq!(&tool["descriptor"][part], value, "{} {part}", entry.name());
        }
        assert_eq!(tool["descriptor"]["_meta"]["name"], entry.name());
        assert!(tool["descriptor"]["_meta"]["rate_limit"]["calls_per_minute"].is_u64());
    }
    assert_eq!(tools[0]["descriptor"]["accepts"]["value"]["enum"], json!(["high", "low", 1, 0]));
    // A caller without rights is told of every tool, and why they cannot call it.
    assert_eq!((&tools[0]["enabled"], &tools[1]["enabled"]), (&json!(false), &json!(true)));
    assert!(tools[0]["reason"].as_str().unwrap().len() > 10 && tools[1].get("reason").is_none());
    let pi = Pi::standard(|settings| settings.tools.enable.extend(["gpio".to_owned()])).await;
    let mut operator = pi.stdio(Caller::new("operator", Role::OpsRw, Transport::Stdio));
    let answer = operator.call("tools.describe", json!({"names": ["gpio.write_pin"]})).await;
    assert_eq!(answer.ok()["tools"][0]["enabled"], true, "{:#}", answer.ok());
}

#[tokio::test]
async fn an_unknown_name_is_not_found_with_the_nearest_and_too_many_are_refused() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for (name, says) in [
        ("gpio.write_pim", "did you mean gpio.write_pin?"),
        ("qwzxv", "tools.search"),
        ("exec.run@9", "has exec.run@1"),
    ] {
        let answer = wire.call("tools.describe", json!({"names": ["system.get_clock", name]})).await;
        let error = answer.failed("not_found");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        assert_eq!(error["details"]["parameter"], "names");
    }
    wire.call("tools.describe", json!({"names": []})).await.refused("/names");
    wire.call("tools.describe", json!({"names": vec!["exec.run"; 11]})).await.refused("/names");
    wire.call("tools.describe", json!({"names": vec!["exec.run"; 10]})).await.ok();
}
