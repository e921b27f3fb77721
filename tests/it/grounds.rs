//! One conversation of ten tools, the same on every ground: answers are identical but for facts of the host.
//!
//! In this process by default. With `RASPI_MCP_GROUND` the very same conversation goes to a server that runs elsewhere, in a
//! container, a guest or under an emulator:
//!
//! ```text
//! RASPI_MCP_GROUND=http://127.0.0.1:8765/mcp cargo test --locked --test it grounds
//! RASPI_MCP_GROUND=unix:/run/raspi-mcp/mcp.sock cargo test --locked --test it grounds   # as neither root nor an admin
//! ```
//!
//! `ci/test` holds it on all four: here (part `tests`), with two real units in a container (`nspawn`), in a guest (`qemu`), and
//! with the release for aarch64 and armv7 under emulation (`cross`). A server must be of this commit and run on its default
//! configuration, but for what `facts.rs` takes out of it.
//!
//! After a tool was added: `BLESS=1 cargo test --test it grounds` rewrites the transcript, in process only.

mod facts;

use crate::support::served::{Door, Pi, Wire};
use serde_json::{Map, Value, json};
use std::{fs, path::PathBuf};

/// What is asked, in this order. The last one shows the nine before it: they were all recorded.
fn questions() -> Vec<(&'static str, Value)> {
    vec![
        ("system.get_capabilities", json!({})),
        ("system.get_basic_info", json!({})),
        ("system.get_clock", json!({})),
        ("system.get_health_snapshot", json!({})),
        ("manage.get_capabilities", json!({})),
        ("manage.get_server_status", json!({})),
        ("tools.search", json!({ "query": "temperature", "limit": 3 })),
        ("system.reboot", json!({ "delay_seconds": 3600 })),
        ("logs.get_recent_app_logs", json!({ "limit": 1 })),
        ("logs.get_recent_audit_logs", json!({ "limit": 9 })),
    ]
}

#[tokio::test]
async fn ten_tools_answer_alike_on_every_ground() {
    if let Some(ground) = std::env::var_os("RASPI_MCP_GROUND") {
        let ground = ground.into_string().expect("RASPI_MCP_GROUND is a URL or unix:PATH");
        compare(&ground, transcript(&mut reach(&ground).await).await);
        println!("{} tools answered alike on {ground}", questions().len());
        return;
    }
    for door in [Door::Http, Door::Stdio, Door::Ws] {
        let (pi, _) = Pi::of_site(&[]).await;
        compare(&format!("{door:?} in process"), transcript(&mut pi.on(door).await).await);
    }
}

async fn reach(ground: &str) -> Wire {
    match ground.strip_prefix("unix:") {
        Some(path) => {
            let stream = tokio::net::UnixStream::connect(path).await;
            let (reader, writer) = stream.unwrap_or_else(|error| panic!("{path}: {error}")).into_split();
            Wire::lines(Door::Unix, reader, writer)
        }
        None => {
            assert!(ground.starts_with("http://") && ground.ends_with("/mcp"), "{ground}: http://…/mcp or unix:PATH");
            Wire::http(Door::Http, ground.to_owned())
        }
    }
}

/// The conversation, with the facts of the host taken out of it.
async fn transcript(wire: &mut Wire) -> Value {
    let mut lines = Vec::new();
    let hello = wire.initialize("2025-11-25", "grounds").await;
    lines.push(json!({ "ask": "initialize", "answer": hello.result() }));
    let listed = wire.request("tools/list", json!({})).await;
    let names: Vec<&Value> = listed.result()["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    lines.push(json!({ "ask": "tools/list", "answer": names }));
    for (tool, args) in questions() {
        let answer = wire.call(tool, args.clone()).await;
        let mut result = answer.result().clone();
        let content = result.as_object_mut().and_then(|result| result.remove("content")).expect("content");
        let data = if result["isError"] == true { answer.error() } else { &result["structuredContent"] };
        assert_eq!(content[0]["text"], data.to_string(), "{tool}: text and data differ");
        if tool == "system.get_capabilities" {
            // Before anything is asked that such a caller could really do.
            let may_reboot = result["structuredContent"]["tools"].get("system.reboot").is_some();
            assert!(!may_reboot, "this caller is an admin there: hold the conversation as a read_only one");
        }
        if result["isError"] == false {
            keeps_its_promise(tool, &result["structuredContent"]);
        }
        facts::take_out(tool, &mut result);
        lines.push(json!({ "ask": tool, "args": args, "answer": result }));
    }
    Value::Array(lines)
}

/// What a fact looks like in detail is the business of the committed contract.
fn keeps_its_promise(tool: &str, answer: &Value) {
    let (namespace, operation) = tool.split_once('.').unwrap();
    let file = here().join(format!("schemas/{namespace}/{operation}.json"));
    let promised: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let schema = jsonschema::options().should_validate_formats(true).build(&promised["outputSchema"]).unwrap();
    if let Err(fault) = schema.validate(answer) {
        panic!("{tool} broke its promise: {fault}\n{answer:#}");
    }
}

#[track_caller]
fn compare(ground: &str, spoken: Value) {
    let file = here().join("tests/fixtures/grounds/ten-tools.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|_| "[]".into());
    let committed: Value = serde_json::from_str(&text).unwrap();
    let mut differences = Vec::new();
    differ("", &committed, &spoken, &mut differences);
    if differences.is_empty() {
        return;
    }
    if std::env::var_os("BLESS").is_some() && std::env::var_os("RASPI_MCP_GROUND").is_none() {
        fs::write(&file, format!("{spoken:#}\n")).unwrap();
        panic!("{} was rewritten: look at it, and run the test again", file.display());
    }
    panic!(
        "{ground}: the conversation differs from tests/fixtures/grounds/ten-tools.json. If that is meant, as after a tool was \
         added: BLESS=1 cargo test --test it grounds\n{}",
        differences.join("\n")
    );
}

/// Every place where two values differ, by its path.
fn differ(at: &str, wanted: &Value, got: &Value, into: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            for (key, value) in wanted {
                match got.get(key) {
                    Some(got) => differ(&format!("{at}/{key}"), value, got, into),
                    None => into.push(format!("{at}/{key}: missing, was {value}")),
                }
            }
            into.extend(new_keys(wanted, got).map(|(key, value)| format!("{at}/{key}: not expected, is {value}")));
        }
        (Value::Array(wanted), Value::Array(got)) if wanted.len() == got.len() => {
            for (n, (wanted, got)) in wanted.iter().zip(got).enumerate() {
                // A line of the conversation is known by what was asked.
                let name = wanted["ask"].as_str().map_or_else(|| n.to_string(), str::to_owned);
                differ(&format!("{at}/{name}"), wanted, got, into);
            }
        }
        _ if wanted == got => {}
        _ => into.push(format!("{at}: was {wanted}, is {got}")),
    }
}

fn new_keys<'a>(
    old: &'a Map<String, Value>,
    new: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    new.iter().filter(|(key, _)| !old.contains_key(*key))
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
