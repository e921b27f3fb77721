//! A call that is cancelled, or takes too long, ends for its caller: the server goes on for the others.

use super::{
    life::{StoppedClock, admin, becomes},
    *,
};
use ::raspi_mcp::agents::Agents;
use std::time::Duration;

/// An MCP server as the specification has it: a cancelled call is never answered, and others go on meanwhile. It writes down
/// what it is told. `stop` blocks it as a whole.
const OBEDIENT: &str = r#"#!/usr/bin/env python3
import json, os, sys, threading, time
here = os.path.dirname(os.path.abspath(__file__))
lock = threading.Lock()
def send(message):
    with lock:
        print(json.dumps(dict({"jsonrpc": "2.0"}, **message)), flush=True)
for line in sys.stdin:
    open(here + "/heard", "a").write(line)
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message or method is None:
        continue
    def result(value):
        send({"id": message["id"], "result": value})
    if method == "initialize":
        result({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}})
    elif method == "tools/list":
        names = ("slow", "stop", "quick", "late")
        result({"tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in names]})
    elif method == "ping":
        result({})
    elif message["params"]["name"] == "late":
        def late(id):
            send({"id": id, "result": {"content": [{"type": "text", "text": "x" * 300000}]}})
            open(here + "/heard", "a").write('"sent"')
        threading.Timer(1.5, late, [message["id"]]).start()
    elif message["params"]["name"] == "stop":
        time.sleep(600)
    elif message["params"]["name"] == "quick":
        result({"content": [{"type": "text", "text": str(os.getpid())}]})
"#;

async fn machine() -> Machine {
    Machine::new(|folder| {
        let second = json!({"tier": "fundamental", "timeout_seconds": 1});
        let tools = json!({"slow": second, "stop": second, "late": second, "quick": {"tier": "fundamental", "timeout_seconds": 60}});
        vec![json!({"type": "thing", "kind": "mcp", "program": folder.program("server", OBEDIENT), "tools": tools})]
    })
    .await
}

fn agents(machine: &Machine) -> Arc<Agents> {
    Arc::clone(&machine.pi.server().pipeline.services.agents)
}

fn heard(machine: &Machine, method: &str) -> usize {
    let heard = fs::read_to_string(machine.dir.path().join("heard")).unwrap_or_default();
    heard.matches(&format!("{method:?}")).count()
}

async fn until(machine: &Machine, method: &str, times: usize) {
    soon(async {
        while heard(machine, method) < times {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn cancelled_calls_and_timeouts_cost_nobody_the_server() {
    let machine = machine().await;
    machine.accept("thing").await;
    agents(&machine).spawn(&admin(), "thing").await.unwrap();
    let mut events = agents(&machine).events();
    let mut wire = machine.pi.on(Door::Stdio).await;
    let process = wire.call("thing.quick", json!({})).await.ok()["text"].clone();
    for number in 0..8 {
        let id = wire.ask("tools/call", json!({"name": "thing.slow", "arguments": {}}));
        until(&machine, "tools/call", 2 * (number + 1)).await;
        wire.notify("notifications/cancelled", json!({"requestId": id}));
        until(&machine, "notifications/cancelled", number + 1).await;
        assert_eq!(wire.call("thing.quick", json!({})).await.ok()["text"], process);
    }
    for _ in 0..2 {
        machine.call("thing.slow", json!({})).await.failed("timeout");
    }
    // It is told a moment after the caller.
    until(&machine, "notifications/cancelled", 10).await;
    // Its answer comes when nobody waits, and is longer than what nobody waits for may be.
    machine.call("thing.late", json!({})).await.failed("timeout");
    // Each is asked for a sign of life when its time is over, and gives it.
    until(&machine, "ping", 11).await;
    until(&machine, "sent", 1).await;
    assert_eq!(wire.call("thing.quick", json!({})).await.ok()["text"], process);
    assert_eq!(machine.state("thing").await["state"], "running");
    assert!(events.try_recv().is_err(), "nothing died");
    assert_eq!(machine.runner.plans.lock().unwrap().len(), 1);
}

/// It answers nobody any more, so it is started again; six callers in a row do not take it from the others.
#[tokio::test]
async fn one_that_hangs_as_a_whole_is_started_again_however_often() {
    let machine = machine().await;
    machine.accept("thing").await;
    agents(&machine).spawn(&admin(), "thing").await.unwrap();
    let mut wire = machine.pi.on(Door::Stdio).await;
    let clock = StoppedClock::new();
    for number in 1..=6 {
        let id = wire.ask("tools/call", json!({"name": "thing.stop", "arguments": {}}));
        // It reads nothing more once it has read this.
        while heard(&machine, "stop") < number {
            tokio::task::yield_now().await;
        }
        clock.advance(2).await;
        wire.answer_to(id).await.failed("timeout");
        // Its sign of life, and the pause before it is started again. What is real meanwhile, its end, gets its time.
        while machine.runner.plans.lock().unwrap().len() == number {
            clock.advance(1).await;
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
        }
        becomes(&machine, "thing", "running").await;
        wire.call("thing.quick", json!({})).await.ok();
    }
    assert!(machine.runner.alive() <= 1);
}
