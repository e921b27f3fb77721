//! Kind `command`: one run of a program for each call.

use super::*;

/// Says what it was given, and fails when it is told to.
const ECHO: &str = r#"#!/bin/sh
case $RASPI_MCP_TOOL in
echo) cat; echo; env | sort ;;
fail) echo "no water" >&2; exit 7 ;;
json) echo '{"percent": 40}' ;;
lie) echo '{"percent": "much"}' ;;
noise) echo 'not JSON' ;;
much) head -c 2000000 /dev/zero ;;
hang) sleep 600 & sleep 600 ;;
esac
"#;

fn tools() -> Value {
    let tool = |tier: &str| json!({"tier": tier, "description": "Something.", "input": schema(&input())});
    let output = json!({"type": "object", "properties": {"percent": {"type": "integer"}}, "required": ["percent"]});
    let mut tools = json!({
        "echo": tool("fundamental"), "fail": tool("fundamental"), "json": tool("fundamental"),
        "lie": tool("fundamental"), "noise": tool("fundamental"), "much": tool("fundamental"), "hang": tool("advanced"),
    });
    for name in ["json", "lie", "noise"] {
        tools[name]["output"] = output.clone();
    }
    tools["hang"]["timeout_seconds"] = json!(1);
    tools
}

async fn echo() -> Machine {
    Machine::new(|folder| {
        let mut agent = command("greenhouse", folder.program("echo", ECHO), tools());
        agent["env"] = json!({"BED": "4 5", "HOME": "/srv/home"});
        vec![agent]
    })
    .await
}

#[tokio::test]
async fn a_tool_is_off_until_it_is_accepted_and_off_again_when_its_program_changes() {
    let machine = echo().await;
    let mut wire = machine.pi.on(Door::Stdio).await;
    assert!(!listed(&mut wire).await.iter().any(|name| name.starts_with("greenhouse.")));
    machine.answered(What::Accept { agent: "greenhouse".into() }, "no\n").await.unwrap_err();
    machine.until_tools("greenhouse", "new").await;
    machine.accept("greenhouse").await;
    assert!(listed(&mut wire).await.contains(&"greenhouse.echo".to_owned()));
    for name in ["greenhouse.echo", "greenhouse_echo", "greenhouse/echo"] {
        let answer = wire.call(name, json!({"bed": 3})).await;
        let text = answer.ok()["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("{\"bed\":3}\n"), "{text}");
        for variable in
            ["RASPI_MCP_AGENT=greenhouse", "RASPI_MCP_TOOL=echo", "USER=raspi-mcp-agent-0", "BED=4 5", "HOME=/srv/home"]
        {
            assert!(text.lines().any(|line| line == variable), "{variable}: {text}");
        }
    }
    wire.call("greenhouse.echo", json!({"bed": 5})).await.refused("/bed");

    // Another program under the same name: the call is refused before it runs.
    Folder(machine.dir.path().canonicalize().unwrap()).program("echo", &format!("{ECHO}# changed\n"));
    let before = machine.pi.server().pipeline.registry.changes();
    let started = machine.runner.plans.lock().unwrap().len();
    let error = wire.call("greenhouse.echo", json!({"bed": 1})).await.failed("failed_precondition").clone();
    assert_eq!(error["details"]["state"], "changed", "{error}");
    assert_eq!(machine.runner.plans.lock().unwrap().len(), started);
    machine.changed(before).await;
    assert!(!listed(&mut wire).await.contains(&"greenhouse.echo".to_owned()));
    assert_eq!(machine.state("greenhouse").await["tools"][0]["state"], "changed");
    machine.accept("greenhouse").await;
    wire.call("greenhouse.echo", json!({"bed": 1})).await.ok();
    machine.answered(What::Revoke { agent: "greenhouse".into() }, "").await.unwrap();
    let said = machine.answered(What::List, "").await.unwrap();
    assert!(said.contains("greenhouse.echo  new"), "{said}");
}

#[tokio::test]
async fn a_result_is_what_was_promised_or_an_error_that_says_what_was_wrong() {
    let machine = echo().await;
    machine.accept("greenhouse").await;
    let bed = || json!({"bed": 1});
    assert_eq!(machine.call("greenhouse.json", bed()).await.ok(), &json!({"percent": 40}));
    for (tool, code, says) in [
        ("fail", "unavailable", "exit code 7"),
        ("lie", "unavailable", "something else than it promised"),
        ("noise", "unavailable", "no JSON"),
        ("much", "content_too_large", "more than 1048576 bytes"),
    ] {
        let answer = machine.call(&format!("greenhouse.{tool}"), bed()).await;
        let error = answer.failed(code);
        assert!(error["message"].as_str().unwrap().contains(says), "{tool}: {error}");
    }
    assert_eq!(machine.call("greenhouse.fail", bed()).await.failed("unavailable")["details"]["stderr"], "no water\n");
}

#[tokio::test]
async fn timeout_and_cancellation_end_everything_that_a_call_started() {
    let machine = echo().await;
    machine.accept("greenhouse").await;
    machine.call("greenhouse.hang", json!({"bed": 1})).await.failed("timeout");
    assert_eq!(machine.runner.alive(), 0);
    let mut wire = machine.pi.on(Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "greenhouse.hang", "arguments": {"bed": 1}}));
    soon(async {
        while machine.runner.alive() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // One instance: a second call at the same time is refused.
    let busy = machine.call("greenhouse.echo", json!({"bed": 1})).await;
    assert_eq!(busy.failed("resource_exhausted")["details"]["dbus_mcp_code"], -32102);
    wire.notify("notifications/cancelled", json!({"requestId": id}));
    soon(async {
        while machine.runner.alive() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn policy_role_and_halt_hold_in_both_halves_and_what_was_done_is_in_the_audit() {
    let machine = Machine::new(|folder| {
        let mut tools =
            json!({"water": {"tier": "advanced", "policy": "ask", "description": "Water.", "input": schema(&input())}});
        tools["never"] =
            json!({"tier": "advanced", "policy": "deny", "description": "Water.", "input": schema(&input())});
        vec![command("greenhouse", folder.program("echo", "#!/bin/sh\ncat\n"), tools)]
    })
    .await;
    machine.accept("greenhouse").await;
    machine.call("greenhouse.never", json!({"bed": 1})).await.failed("permission_denied");
    machine.pi.on(Door::Http).await.call("greenhouse.water", json!({"bed": 1})).await.failed("permission_denied");
    let mut wire = machine.pi.on(Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "greenhouse.water", "arguments": {"bed": 2}}));
    let ask = soon(async {
        loop {
            if let Some(ask) = machine.root.get::<::agent::operations::asks::ListAsks>().await.unwrap().pop() {
                return ask;
            }
        }
    })
    .await;
    assert_eq!(ask.request.args, json!({"bed": 2}));
    // The server half cannot do it without the person, nor another call with their approval.
    let request = |bed: u8, ask: Option<String>| ::agent::operations::agents::AgentToolRequest {
        id: agent::operations::commands::CommandRef::random().unwrap().id,
        agent: "greenhouse".into(),
        tool: "water".into(),
        args: json!({"bed": bed}),
        authorization: ::agent::Authorization {
            principal: "stdio".into(),
            args_sha256: base::canonical::sha256_hex(&json!({"bed": bed})),
            ask_id: ask,
        },
    };
    type Run = ::agent::operations::agents::RunAgentTool;
    machine.root.call::<Run>(request(2, None)).await.unwrap_err();
    machine.root.call::<Run>(request(2, Some(ask.id.clone()))).await.unwrap_err();
    let answer = ::agent::operations::asks::AnswerRequest { id: ask.id.clone(), approve: true };
    machine.root.call::<::agent::operations::asks::AnswerAsk>(answer).await.unwrap();
    assert_eq!(wire.answer_to(id).await.ok()["text"], "{\"bed\":2}");
    machine.root.call::<Run>(request(2, Some(ask.id))).await.unwrap_err();
    let record = machine.pi.audited(|record| record["tool"] == "greenhouse.water" && record["outcome"] == "ok").await;
    assert_eq!((&record["args"], &record["changed"]), (&json!({"bed": 2}), &json!(true)), "{record}");
    assert_eq!((&record["by"], &record["principal"]), (&json!("agent:greenhouse"), &json!("stdio")), "{record}");
    let halt = ::agent::operations::halt::HaltRequest { reason: None, authorization: None };
    machine.root.call::<::agent::operations::halt::SetHalt>(halt).await.unwrap();
    machine.call("greenhouse.water", json!({"bed": 1})).await.failed("failed_precondition");
    assert_eq!(machine.runner.plans.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn nothing_is_hidden_from_a_unit_less_than_it_has_to_be() {
    let machine = echo().await;
    machine.accept("greenhouse").await;
    machine.call("greenhouse.json", json!({"bed": 1})).await.ok();
    let plan = machine.runner.plans.lock().unwrap()[0].clone();
    for path in ["/run/dbus", "/run/raspi-mcp", "/run/raspi-mcp-agent", "/run/systemd/resolve/io.systemd.Resolve"] {
        assert!(plan.hidden.contains(&path.into()), "{path}: {:?}", plan.hidden);
    }
    assert!(!plan.network && plan.unit.no_loopback && plan.writable.is_empty(), "{plan:?}");
    assert_eq!((plan.unit.memory, plan.unit.tasks), (Some(100 << 20), 32));
    assert_eq!((plan.unit.prefix.as_str(), plan.unit.slice), ("raspi-mcp-agent-greenhouse-", "raspi-mcp-agents.slice"));
}
