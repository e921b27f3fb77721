//! What a person is told who accepts an agent's tools, and why there is nothing to accept.

use super::*;

/// Fails as the file `how` beside it says.
const FAILS: &str = r#"#!/usr/bin/env python3
import json, os, sys, time
how = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "how")).read()
print("settings.json: no key", file=sys.stderr, flush=True)
if how == "start": sys.exit(3)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    def say(**what): print(json.dumps(dict({"jsonrpc": "2.0", "id": message["id"]}, **what)), flush=True)
    method = message["method"]
    if method == "initialize" and how == "refused": say(error={"code": -32000, "message": "wrong version"})
    elif method == "initialize" and how == "silent": time.sleep(60)
    elif method == "initialize": say(result={"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}})
    elif how == "list": sys.exit(4)
    elif how == "garbage": print("Listening ...", flush=True)
    elif how == "others": say(result={"tools": [{"name": "other", "inputSchema": {"type": "object"}}]})
    elif how == "schema": say(result={"tools": [{"name": "sow", "description": "Sow.", "inputSchema": {"type": "array"}}]})
    else: say(result={"tools": [{"name": "sow", "description": "Sow.", "inputSchema": {"type": "object"}}]})
"#;

async fn failing(how: &str) -> Machine {
    let how = how.to_owned();
    Machine::new(move |folder| {
        fs::write(folder.0.join("how"), how).unwrap();
        let program = folder.program("server", FAILS);
        let tools = json!({"sow": {"tier": "advanced", "policy": "ask"}});
        let args = json!(["--bed", "4 5"]);
        vec![
            json!({"type": "garden", "kind": "mcp", "program": program, "args": args, "start_seconds": 2, "tools": tools}),
        ]
    })
    .await
}

#[tokio::test]
async fn one_that_does_not_start_is_told_with_its_step_and_what_it_said() {
    for (how, step, wanted) in [
        ("start", "start", "ended with 3"),
        ("refused", "initialize", "wrong version"),
        ("silent", "initialize", "raise start_seconds"),
        ("list", "tools/list", "ended with 4"),
        ("garbage", "tools/list", "what is no MCP message, such as \"Listening ...\""),
    ] {
        let machine = failing(how).await;
        let said = machine.answered(What::Accept { agent: "garden".into() }, "yes\n").await.unwrap_err();
        assert!(said.contains(wanted), "{how}: {said}");
        // A program may end before or after what is written to it arrives.
        assert!(said.contains(&format!("failed at: {step}")) || how == "start", "{how}: {said}");
        assert!(said.contains("it said: settings.json: no key"), "{how}: {said}");
        let listed = machine.answered(What::List, "").await.unwrap();
        assert!(listed.contains(wanted), "{how}: {listed}");
        let problem = machine.state("garden").await["problem"].clone();
        assert!(problem.as_str().unwrap().contains(wanted), "{how}: {problem}");
        // Mended, it is started at once, however often it has failed.
        fs::write(machine.dir.path().join("how"), "works").unwrap();
        machine.accept("garden").await;
        assert_eq!(machine.state("garden").await["problem"], Value::Null, "{how}");
    }
}

#[tokio::test]
async fn a_server_without_the_named_tools_runs_and_says_so() {
    let machine = failing("others").await;
    let said = machine.answered(What::Accept { agent: "garden".into() }, "yes\n").await.unwrap_err();
    assert!(said.contains("it runs, but lists none of the tools") && said.contains("sow"), "{said}");
}

#[tokio::test]
async fn what_is_accepted_is_shown_with_its_program_its_rules_and_its_hashes() {
    let machine = failing("works").await;
    let shown = machine.answered(What::Accept { agent: "garden".into() }, "no\n").await;
    assert!(shown.is_err());
    let shown = machine.answered(What::Accept { agent: "garden".into() }, "yes\n").await.unwrap();
    let program = machine.dir.path().canonicalize().unwrap().join("server");
    for part in [
        "garden: MCP server",
        &format!("  program: {}", program.display()),
        r#"  args: "--bed" "4 5""#,
        "  files: sha256 ",
        "  network: no; writes: nothing; memory: 100 MiB",
        "garden.sow  new",
        "  tier: advanced; role: ops_rw; policy: ask; timeout: 30 s",
        "  description: Sow.",
        "  sha256: ",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_is_named_before_it_is_accepted_and_in_the_list() {
    let machine = failing("schema").await;
    let shown = machine.answered(What::Accept { agent: "garden".into() }, "yes\n").await.unwrap();
    assert!(shown.contains("  not offered: "), "{shown}");
    let listed = machine.answered(What::List, "").await.unwrap();
    assert!(listed.contains("garden.sow  accepted\n    not offered: "), "{listed}");
}

#[tokio::test]
async fn a_question_names_the_program_that_the_call_runs() {
    let machine = failing("works").await;
    machine.accept("garden").await;
    let mut wire = machine.pi.on(Door::Stdio).await;
    let call = wire.call("garden.sow", json!({}));
    let asked = async {
        loop {
            let asks = machine.root.get::<::agent::operations::asks::ListAsks>().await.unwrap();
            if let Some(ask) = asks.first() {
                return ask.request.summary.clone();
            }
        }
    };
    let summary = soon(async {
        tokio::select! { _ = call => panic!("nobody was asked"), summary = asked => summary }
    })
    .await;
    let program = machine.dir.path().canonicalize().unwrap().join("server");
    assert!(summary.contains(&format!("it runs {}", program.display())), "{summary}");
}
