//! What MCP servers answer, as it reaches a caller; and what hostile ones send, which takes no memory.

use super::*;

/// Answers a call with what its folder has in a file of the tool's name, and sends first what is in "before".
const SAYS: &str = r#"#!/usr/bin/env python3
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__)) + "/"
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    elif method == "tools/list":
        if os.path.exists(here + "endless"):
            result = {"tools": [{"name": "t%d" % n, "description": "x" * 4000} for n in range(200)], "nextCursor": "on"}
        else:
            long = "x" * 20000 if os.path.exists(here + "long") else ""
            result = {"tools": [{"name": name, "description": name + (long if name == "other" else ""), "inputSchema": {"type": "object"}}
                                for name in ("says", "other")]}
    else:
        if os.path.exists(here + "before"):
            sys.stdout.write(open(here + "before").read())
        text = open(here + message["params"]["name"]).read()
        sys.stdout.write(text.replace("ID", str(message["id"])) + "\n")
        sys.stdout.flush()
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

async fn machine() -> Machine {
    let machine = Machine::new(|folder| {
        let read = json!({"tier": "fundamental"});
        let tools = json!({"says": read, "other": read});
        vec![json!({"type": "thing", "kind": "mcp", "program": folder.program("server", SAYS), "tools": tools})]
    })
    .await;
    machine.accept("thing").await;
    machine
}

impl Machine {
    fn says(&self, file: &str, text: &str) {
        fs::write(self.dir.path().join(file), text).unwrap();
    }

    fn answers(&self, result: &Value) {
        self.says("says", &format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#));
    }
}

#[tokio::test]
async fn content_of_every_kind_reaches_the_caller_and_malformed_results_are_errors() {
    let machine = machine().await;
    let linked = json!([
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "found"}},
        {"type": "resource_link", "uri": "file:///b.txt", "name": "b"},
    ]);
    machine.answers(&json!({"content": linked}));
    let text = machine.call("thing.says", json!({})).await.ok()["text"].clone();
    assert_eq!(text, "[resource file:///a.txt]\nfound\n[resource file:///b.txt: b]");
    machine.answers(&json!({"content": [], "structuredContent": {"rows": [1, 2]}}));
    assert_eq!(machine.call("thing.says", json!({})).await.ok()["text"], r#"{"rows":[1,2]}"#);
    machine.answers(&json!({"content": [{"type": "text", "text": "api_key=abcdefghijklmnop"}]}));
    assert!(!machine.call("thing.says", json!({})).await.ok().to_string().contains("abcdefghijklmnop"));
    for (result, why) in [
        (json!({}), "neither content nor structuredContent"),
        (json!({"content": [{"type": "image", "data": "?", "mimeType": "image/png"}]}), "no base64"),
        (json!([]), "no object"),
    ] {
        machine.answers(&result);
        let error = machine.call("thing.says", json!({})).await.failed("unavailable").clone();
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }
    assert_eq!(machine.state("thing").await["state"], "running");
}

#[tokio::test]
async fn blank_lines_numbers_as_texts_and_strange_messages_cost_nothing() {
    let machine = machine().await;
    machine.says("before", "\n  \r\n{\"jsonrpc\":\"2.0\",\"id\":\"none\",\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n");
    machine.says("says", r#"{"jsonrpc":"2.0","id":"ID","result":{"content":[{"type":"text","text":"hello"}]}}"#);
    assert_eq!(machine.call("thing.says", json!({})).await.ok()["text"], "hello");
    assert_eq!(machine.runner.plans.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn too_much_is_refused_before_it_is_parsed() {
    let machine = machine().await;
    // Five million values in 10 MiB.
    machine.says(
        "says",
        &format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":[{}]}}}}"#, vec!["0"; 5_000_000].join(",")),
    );
    let error = machine.call("thing.says", json!({})).await.failed("content_too_large").clone();
    assert_eq!(error["details"]["limit_values"], 100_000, "{error}");
    assert_eq!(machine.state("thing").await["state"], "running", "a call's answer costs the call");
    machine.answers(&json!({"content": [{"type": "text", "text": "x".repeat(1 << 20)}]}));
    assert_eq!(machine.call("thing.says", json!({})).await.ok()["text"].as_str().unwrap().len(), 1 << 20);
    // Without a call that waits, a long message is dropped as it arrives.
    machine.says("before", "");
    let long = "x".repeat(10_000_000);
    let notification = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":\"{long}\"}}");
    let answer = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a"}]}}"#;
    machine.says("says", &format!("{answer}\n{notification}"));
    for _ in 0..3 {
        assert_eq!(machine.call("thing.says", json!({})).await.ok()["text"], "a");
    }
    assert_eq!(machine.runner.plans.lock().unwrap().len(), 1, "nothing died");
}

/// One tool that says too much takes none of the others down.
#[tokio::test]
async fn a_long_description_costs_its_tool_alone_and_an_endless_list_the_start() {
    let machine = machine().await;
    machine.says("long", "");
    let kept = machine.settings.places.agent_state_dir.join("agents-described.json");
    let machine = machine.restarted(None, |_| fs::remove_file(kept).unwrap()).await;
    machine.answers(&json!({"content": [{"type": "text", "text": "hello"}]}));
    machine.until_listed("thing.says").await;
    assert_eq!(machine.call("thing.says", json!({})).await.ok()["text"], "hello");
    machine.says("endless", "");
    let machine = machine.restarted(None, |_| {}).await;
    machine.until_listed("thing.says").await;
    let error = machine.call("thing.says", json!({})).await;
    let text = error.message.to_string();
    assert!(text.contains("more than 1 MiB") || text.contains("more than 1048576 bytes"), "{text}");
}

impl Machine {
    async fn until_listed(&self, tool: &str) {
        soon(async {
            while !listed(&mut self.pi.on(Door::Stdio).await).await.contains(&tool.to_owned()) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

/// The privileged half takes 128 KiB at once: more is refused where it is asked for, at once, and others' calls go on.
#[tokio::test]
async fn a_call_of_a_command_with_more_than_a_message_is_refused_at_once() {
    let machine = Machine::new(|folder| {
        let input = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let tools = json!({"echo": {"tier": "fundamental", "description": "Echoes.", "input": input}});
        vec![command("greenhouse", folder.program("echo", "#!/bin/sh\nexec wc -c\n"), tools)]
    })
    .await;
    machine.accept("greenhouse").await;
    let long = json!({"text": "x".repeat(140_000)});
    let began = std::time::Instant::now();
    let error = machine.call("greenhouse.echo", long).await.failed("content_too_large").clone();
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{error}");
    machine.call("greenhouse.echo", json!({"text": "short"})).await.ok();
}

/// Each tool whose schema cannot be taken is named with the reason, and the others are there.
#[tokio::test]
async fn a_schema_that_cannot_be_taken_is_told_with_its_tool() {
    let machine = Machine::new(|folder| {
        let strange = SAYS.replace(
            r#""inputSchema": {"type": "object"}"#,
            r#""inputSchema": {"type": "array"} if name == "other" else {"type": "object"}"#,
        );
        assert_ne!(strange, SAYS);
        let read = json!({"tier": "fundamental"});
        let tools = json!({"says": read, "other": read});
        vec![json!({"type": "thing", "kind": "mcp", "program": folder.program("server", &strange), "tools": tools})]
    })
    .await;
    machine.accept("thing").await;
    machine.until_listed("thing.says").await;
    soon(async {
        while !machine.state("thing").await["problem"]
            .as_str()
            .is_some_and(|why| why.contains("other is not offered: "))
        {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}
