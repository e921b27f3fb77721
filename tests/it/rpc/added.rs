//! Tools that are added, replaced and removed while the server runs.

use crate::support::served::{Door, Pi, Wire, bench::Bench, soon};
use base::error::ToolError;
use contract::meta::{Effect, Meta, OwnedMeta, Role, Tier};
use raspi_mcp::registry::{
    added::ToolHandler,
    context::Context,
    entry::Entry,
    tool::{ToolFuture, ToolOutput},
};
use serde_json::{Value, json, value::to_raw_value};
use std::sync::Arc;

/// Answers with its arguments and its own word.
struct Says(&'static str);

impl ToolHandler for Says {
    fn call<'a>(&'a self, _cx: &'a Context, args: Value) -> ToolFuture<'a> {
        Box::pin(async move { output(&json!({"said": self.0, "args": args})) })
    }
}

/// Waits until the test lets it go.
struct Holds(Arc<Bench>);

impl ToolHandler for Holds {
    fn call<'a>(&'a self, _cx: &'a Context, _args: Value) -> ToolFuture<'a> {
        Box::pin(async move {
            self.0.inside.send_modify(|inside| *inside += 1);
            self.0.release.acquire().await.unwrap().forget();
            output(&json!({"said": "held"}))
        })
    }
}

fn output(value: &Value) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput { json: to_raw_value(value).unwrap(), content: Vec::new(), whole: None, blob: None })
}

fn input() -> Value {
    json!({
        "type": "object",
        "properties": {"litres": {"type": "number", "minimum": 0, "maximum": 5}},
        "required": ["litres"],
        "additionalProperties": false,
    })
}

fn tool(name: &str, others: Meta, handler: impl ToolHandler) -> Result<Entry, ToolError> {
    let meta = OwnedMeta::new(name, "Water", "Water the plants.\n\nUse when: they are dry.", others);
    Entry::added(meta, input(), Value::Null, handler)
}

fn water(word: &'static str) -> Entry {
    tool("greenhouse.water", Meta::READ, Says(word)).unwrap()
}

fn set(pi: &Pi, entries: Vec<Entry>) -> Result<bool, ToolError> {
    pi.server().pipeline.registry.set_namespace("greenhouse", entries)
}

async fn listed(wire: &mut Wire) -> bool {
    let answer = wire.request("tools/list", json!({})).await;
    let tools = answer.result()["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool["_meta"]["name"] == "greenhouse.water")
}

async fn news(wire: &mut Wire) {
    let message = soon(wire.next()).await.expect("the connection lasts").message;
    assert_eq!(message["method"], "notifications/tools/list_changed", "{message:#}");
}

#[tokio::test]
async fn an_added_tool_is_a_tool_like_any_other_until_it_is_removed() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        assert!(!listed(&mut wire).await);
        assert!(set(&pi, vec![water("first")]).unwrap());
        assert!(listed(&mut wire).await, "{:?}", wire.door);
        for name in ["greenhouse.water", "greenhouse_water", "greenhouse/water", "greenhouse.water@1"] {
            let answer = wire.call(name, json!({"litres": 1})).await;
            assert_eq!((&answer.ok()["said"], &answer.ok()["args"]["litres"]), (&json!("first"), &json!(1)), "{name}");
            assert_eq!(wire.request(name, json!({"litres": 1})).await.result()["said"], "first");
        }
        wire.call("greenhouse.water", json!({"litres": 6})).await.refused("/litres");
        wire.call("greenhouse.water", json!({})).await.failed("invalid_argument");
        wire.call("greenhouse.water", json!({"litres": 1, "more": 1})).await.failed("invalid_argument");
        let found = wire.call("tools.search", json!({"query": "water plants"})).await;
        assert_eq!(found.ok()["tools"][0]["name"], "greenhouse.water");
        let described = wire.call("tools.describe", json!({"names": ["greenhouse_water"]})).await;
        assert_eq!(described.ok()["tools"][0]["descriptor"]["inputSchema"], input());

        assert!(set(&pi, vec![water("second")]).unwrap());
        assert_eq!(wire.call("greenhouse.water", json!({"litres": 1})).await.ok()["said"], "second");
        assert!(set(&pi, Vec::new()).unwrap());
        assert!(!listed(&mut wire).await);
        wire.request("tools/call", json!({"name": "greenhouse.water"})).await.fault(-32602);
        assert!(!set(&pi, Vec::new()).unwrap(), "nothing has changed");
    }
    assert!(pi.audit().await.iter().any(|record| record["tool"] == "greenhouse.water" && record["outcome"] == "ok"));
}

#[tokio::test]
async fn clients_are_told_once_of_each_change() {
    let pi = Pi::standard(|_| {}).await;
    for door in [Door::Stdio, Door::Unix, Door::Ws] {
        let mut wire = pi.on(door).await;
        wire.initialize("2025-11-25", "a client").await;
        listed(&mut wire).await;
        set(&pi, vec![water("first")]).unwrap();
        news(&mut wire).await;
        assert!(listed(&mut wire).await);
        set(&pi, Vec::new()).unwrap();
        news(&mut wire).await;
        assert!(!listed(&mut wire).await);
        assert!(wire.seen.is_empty(), "{:#?}", wire.seen);
    }
}

#[tokio::test]
async fn role_policy_and_switch_hold_for_an_added_tool() {
    let pi = Pi::with(|settings| {
        settings.tools.enable.insert("greenhouse".to_owned());
        settings.policy.insert("greenhouse.flood".to_owned(), contract::meta::Mode::Deny);
    })
    .await;
    let write = Meta { tier: Tier::Advanced, role: Role::Admin, ..Meta::WRITE };
    let effect = Effect::Write { destructive: true, idempotent: false };
    let tools = vec![
        tool("greenhouse.water", write, Says("wet")).unwrap(),
        tool("greenhouse.flood", Meta { effect, ..write }, Says("flooded")).unwrap(),
    ];
    set(&pi, tools).unwrap();
    let mut admin = pi.on(Door::Stdio).await;
    let answer = admin.call("greenhouse.water", json!({"litres": 1})).await;
    assert_eq!((&answer.ok()["said"], &answer.meta()["changed"]), (&json!("wet"), &json!(false)));
    admin.call("greenhouse.flood", json!({"litres": 1})).await.failed("permission_denied");
    let mut reader = pi.on(Door::Http).await;
    reader.call("greenhouse.water", json!({"litres": 1})).await.failed("permission_denied");
    assert!(!listed(&mut reader).await && listed(&mut admin).await);
}

#[tokio::test]
async fn a_call_of_a_removed_tool_runs_to_its_end_and_its_cached_answers_go() {
    let pi = Pi::start().await;
    set(&pi, vec![tool("greenhouse.water", Meta::READ, Holds(Arc::clone(&pi.bench))).unwrap()]).unwrap();
    let mut wire = pi.on(Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "greenhouse.water", "arguments": {"litres": 1}}));
    pi.bench.until_inside(1).await;
    let cached = Meta { cache_seconds: Some(60), ..Meta::READ };
    set(&pi, vec![tool("greenhouse.water", cached, Says("first")).unwrap()]).unwrap();
    pi.bench.release.add_permits(1);
    assert_eq!(wire.answer_to(id).await.ok()["said"], "held");
    assert_eq!(wire.call("greenhouse.water", json!({"litres": 1})).await.ok()["said"], "first");
    assert!(wire.call("greenhouse.water", json!({"litres": 1})).await.meta()["cached_age_ms"].is_u64());
    set(&pi, vec![tool("greenhouse.water", cached, Says("second")).unwrap()]).unwrap();
    let answer = wire.call("greenhouse.water", json!({"litres": 1})).await;
    assert_eq!(answer.ok()["said"], "second", "another tool's answer is not its answer");
}

#[tokio::test]
async fn a_page_of_an_older_list_is_not_continued() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Stdio).await;
    let first = wire.request("tools/list", json!({"limit": 3})).await;
    let cursor = first.result()["nextCursor"].clone();
    wire.request("tools/list", json!({"limit": 3, "cursor": cursor})).await.result();
    set(&pi, vec![water("first")]).unwrap();
    let answer = wire.request("tools/list", json!({"limit": 3, "cursor": cursor})).await;
    let message = answer.fault(-32602)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("has changed"), "{message}");
}

#[tokio::test]
async fn names_that_are_taken_and_schemas_that_cannot_be_executed_change_nothing() {
    let pi = Pi::start().await;
    let registry = Arc::clone(&pi.server().pipeline.registry);
    let add = |namespace: &str, name: &str| registry.set_namespace(namespace, vec![tool(name, Meta::READ, Says("x"))?]);
    for (namespace, name, says) in [
        ("gpio", "gpio.water", "this server's own"),
        ("greenhouse", "garden.water", "is not in the namespace"),
        // As gpio.read_pin and system.get_clock are spelled by most clients.
        ("gpio_read", "gpio_read.pin", "gpio_read_pin"),
        ("system_get", "system_get.clock", "system_get_clock"),
        ("resources", "resources.read", "methods of MCP"),
        ("greenhouse", "greenhouse", "no dot"),
        ("greenhouse", "greenhouse.Water", "lower-case"),
        ("greenhouse", "greenhouse.water.more", "lower-case"),
        ("greenhouse", "greenhouse.1", "begin with a letter"),
        ("greenhouse", &format!("greenhouse.{}", "x".repeat(60)), "at most 64"),
    ] {
        let error = add(namespace, name).expect_err(name);
        assert!(error.message.contains(says), "{name}: {error}");
    }
    let twice = registry.set_namespace("greenhouse", vec![water("a"), water("b")]).unwrap_err();
    assert!(twice.message.contains("already"), "{twice}");
    assert_eq!(registry.entries().count(), raspi_count(&pi), "nothing was added");

    let meta = || OwnedMeta::new("greenhouse.water", "Water", "Water.", Meta::READ);
    // References that double with each step: more than two to the fourteenth parts.
    let mut definitions = json!({"d0": {"type": "string"}});
    for n in 1..=14 {
        let reference = json!({"$ref": format!("#/$defs/d{}", n - 1)});
        definitions[format!("d{n}")] = json!({"allOf": [reference, reference]});
    }
    let laughs = json!({"type": "object", "$defs": definitions, "properties": {"a": {"$ref": "#/$defs/d14"}}});
    for (schema, says) in [
        (json!({"type": "string"}), "is not \"object\""),
        (json!(true), "is not \"object\""),
        (json!({"type": "object", "unevaluatedProperties": false}), "unevaluatedProperties"),
        (json!({"type": "object", "properties": {"a": {"$ref": "#"}}}), "deep"),
        (laughs, "parts"),
    ] {
        let error = Entry::added(meta(), schema.clone(), Value::Null, Says("x")).err().expect("refused");
        assert!(error.message.contains(says), "{says}: {error}");
        let error = Entry::added(meta(), input(), schema, Says("x")).err().expect("refused");
        assert!(error.message.contains(says), "{says}: {error}");
    }
}

fn raspi_count(pi: &Pi) -> usize {
    pi.server().pipeline.registry.rows().filter(|row| !row.is_older()).count()
}

/// An agent that registers again and again must not eat the memory: what was replaced is dropped.
#[tokio::test]
async fn what_was_replaced_is_dropped() {
    struct Drops(Arc<()>);
    impl ToolHandler for Drops {
        fn call<'a>(&'a self, _cx: &'a Context, _args: Value) -> ToolFuture<'a> {
            let word = Arc::strong_count(&self.0);
            Box::pin(async move { output(&json!({"said": word})) })
        }
    }
    let pi = Pi::start().await;
    let alive = Arc::new(());
    let mut wire = pi.on(Door::Stdio).await;
    for n in 0..100 {
        set(&pi, vec![tool("greenhouse.water", Meta::READ, Drops(Arc::clone(&alive))).unwrap()]).unwrap();
        if n % 10 == 0 {
            assert!(listed(&mut wire).await);
            wire.call("greenhouse.water", json!({"litres": 1})).await.ok();
        }
    }
    set(&pi, Vec::new()).unwrap();
    // The listing that was made last has it still, until another one is made.
    listed(&mut wire).await;
    assert_eq!(Arc::strong_count(&alive), 1);
}
