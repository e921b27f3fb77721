//! Agents that are killed in mid-call, of both kinds in turn: ci/nspawn kills the halves of this product too.

use super::{
    life::{StoppedClock, becomes},
    *,
};

/// Starts two children; it and one of them want no signal but the one that cannot be refused.
const HANGS: &str = "#!/bin/sh\ntrap '' TERM\n( trap '' TERM; exec sleep 600 ) &\nsleep 600\n";

/// An MCP server whose tool `hang` starts a child and never answers; `quick` does.
const SERVER: &str = r#"#!/usr/bin/env python3
import json, subprocess, sys, time
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("hang", "quick")]}
    elif message["params"]["name"] == "hang":
        subprocess.Popen(["sleep", "600"])
        time.sleep(600)
    else:
        result = {"content": [{"type": "text", "text": "quick"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// The processes that the runner has started as agents, and what they have started: by the marker in their environment.
fn marked(machine: &Machine) -> Vec<String> {
    let ids: Vec<String> = machine.runner.plans.lock().unwrap().iter().map(|plan| plan.id.clone()).collect();
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let environments = all.filter_map(|path| String::from_utf8(fs::read(path.join("environ")).ok()?).ok());
    environments.filter(|environment| ids.iter().any(|id| environment.contains(id.as_str()))).collect()
}

async fn none_left(machine: &Machine) {
    soon(async {
        while !marked(machine).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn forty_kills_in_turn_leave_one_error_each_no_orphan_and_a_call_that_works() {
    let machine = Machine::new(|folder| {
        let slow = json!({"tier": "fundamental", "timeout_seconds": 600});
        let mut of_command = slow.clone();
        of_command["description"] = json!("Hangs.");
        of_command["input"] = json!({"type": "object"});
        let mut quick = of_command.clone();
        quick["timeout_seconds"] = json!(30);
        let mut server = json!({"type": "stays", "kind": "mcp", "program": folder.program("server", SERVER)});
        server["tools"] = json!({"hang": slow, "quick": {"tier": "fundamental"}});
        let text = format!("#!/bin/sh\nif [ \"$RASPI_MCP_TOOL\" = quick ]; then echo quick; exit; fi\n{HANGS}");
        let program = folder.program("program", &text);
        vec![command("runs", program, json!({"hang": of_command, "quick": quick})), server]
    })
    .await;
    machine.accept("runs").await;
    machine.accept("stays").await;
    let mut wire = machine.pi.on(Door::Stdio).await;
    wire.call("stays.quick", json!({})).await.ok();
    let clock = StoppedClock::new();
    for number in 0..40 {
        let agent = ["runs", "stays"][number % 2];
        let before = marked(&machine).len();
        // Deaths a minute apart are not deaths in a row.
        clock.advance(60).await;
        let id = wire.ask("tools/call", json!({"name": format!("{agent}.hang"), "arguments": {}}));
        // The program, its child and its `sleep`; or the child of the server.
        let more = if agent == "runs" { 3 } else { 1 };
        while marked(&machine).len() < before + more {
            tokio::task::yield_now().await;
        }
        machine.runner.kill_newest_of(agent);
        let error = wire.answer_to(id).await.failed("unavailable").clone();
        assert!(error["message"].as_str().unwrap().contains(agent), "{error}");
        // One answer: the next message is that of the next request.
        let next = wire.ask("ping", json!({}));
        assert_eq!(*wire.answer().await.id(), json!(next), "{number}");
        if agent == "stays" {
            none_left(&machine).await;
            clock.advance(1).await;
            becomes(&machine, "stays", "running").await;
        }
        let quick = wire.call(&format!("{agent}.quick"), json!({})).await;
        assert_eq!(quick.ok()["text"].as_str().unwrap().trim(), "quick");
        // The server alone is left.
        while marked(&machine).len() > 1 {
            tokio::task::yield_now().await;
        }
    }
}
