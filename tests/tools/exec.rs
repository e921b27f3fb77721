//! `exec.run` on a simulated machine: the list, what callers get back and when, and who is asked.

use crate::support::served::{Door, Pi, soon};
use agent::operations as op;
use contract::{
    config::{CommandSetting, Settings},
    meta::Mode,
};
use serde_json::{Value, json};

fn command(name: &str, program: &str) -> CommandSetting {
    serde_json::from_value(json!({
        "name": name, "program": program, "more_args": "[a-z0-9. ]*", "stdin": true, "env": ["COLOUR"]
    }))
    .unwrap()
}

fn enabled(settings: &mut Settings) {
    settings.tools.enable.insert("exec".into());
    settings.policy.insert("exec.run".into(), Mode::Allow);
    settings.exec.cwd_roots = vec!["/srv/work".into()];
    for name in ["echo", "cat", "sleep", "false", "pwd", "env"] {
        settings.exec.commands.push(command(name, &format!("/bin/{name}")));
    }
    settings.exec.commands.push(command("absent", "/bin/absent"));
}

async fn pi() -> Pi {
    Pi::with(enabled).await
}

#[tokio::test]
async fn a_listed_command_runs_and_says_that_it_is_simulated() {
    let pi = pi().await;
    let answer = pi.call("exec.run", json!({"command": "echo", "args": ["hello", "there"]})).await;
    let out = answer.ok();
    assert_eq!(
        (&out["exit_code"], &out["stdout"], &out["timed_out"]),
        (&json!(0), &json!("hello there\n"), &json!(false))
    );
    assert_eq!((&answer.meta()["simulated"], &answer.meta()["changed"]), (&json!(true), &json!(true)));
    let code = |args: Value| {
        let pi = &pi;
        async move { pi.call("exec.run", args).await.ok()["exit_code"].clone() }
    };
    assert_eq!(code(json!({"command": "false"})).await, 1);
    assert_eq!(code(json!({"command": "/bin/echo"})).await, 0);
    let stdin = pi.call("exec.run", json!({"command": "cat", "stdin": "words"})).await;
    assert_eq!(stdin.ok()["stdout"], "words");
    let cwd = pi.call("exec.run", json!({"command": "pwd", "cwd": "sub"})).await;
    assert_eq!(cwd.ok()["stdout"], "/srv/work/sub\n");
    pi.call("exec.run", json!({"command": "absent"})).await.failed("not_found");
}

/// A list of names and values is the map, before anybody is asked, and in the audit.
#[tokio::test]
async fn env_as_a_list_and_as_a_map_is_one_call() {
    let map = json!({"command": "env", "env": {"COLOUR": "red"}});
    let list = json!({"command": "env", "env": [{"name": "COLOUR", "value": "red"}]});
    let pi = pi().await;
    for args in [&map, &list] {
        let answer = pi.call("exec.run", args.clone()).await;
        assert!(answer.ok()["stdout"].as_str().unwrap().contains("COLOUR=red"), "{args}: {:#}", answer.ok());
    }
    let twice =
        json!({"command": "env", "env": [{"name": "COLOUR", "value": "red"}, {"name": "COLOUR", "value": "blue"}]});
    let error = pi.call("exec.run", twice).await.failed("invalid_argument").clone();
    assert!(error["message"].as_str().unwrap().contains("\"COLOUR\" twice"), "{error}");
    pi.audited(|record| record["outcome"] == "invalid_argument").await;
    let records = pi.audit().await;
    let ran: Vec<&Value> =
        records.iter().filter(|record| record["outcome"] == "ok" && record["tool"] == "exec.run").collect();
    assert!(ran.len() >= 2 && ran.iter().all(|record| record["args_sha256"] == ran[0]["args_sha256"]), "{records:#?}");
    assert!(ran.iter().all(|record| record["args"]["env"] == json!({"COLOUR": "red"})), "{records:#?}");
    // One question, whichever way the call is written.
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.policy.insert("exec.run".into(), Mode::Ask);
        settings.approval.wait_seconds = 1;
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let asked = wire.call("exec.run", list).await.failed("failed_precondition")["details"]["ask_id"].clone();
    assert_eq!(wire.call("exec.run", map).await.failed("failed_precondition")["details"]["ask_id"], asked);
    let other = json!({"command": "env", "env": [{"name": "COLOUR", "value": "blue"}]});
    assert_ne!(wire.call("exec.run", other).await.failed("failed_precondition")["details"]["ask_id"], asked);
}

#[tokio::test]
async fn what_is_not_listed_is_refused_by_both_halves_and_written_down() {
    let pi = pi().await;
    for (args, parameter) in [
        (json!({"command": "id"}), "command"),
        (json!({"command": "echo; id"}), "command"),
        (json!({"command": "./echo"}), "command"),
        (json!({"command": "echo\u{0}"}), "command"),
        (json!({"command": "echo", "args": ["-n"]}), "args.0"),
        (json!({"command": "echo", "args": ["ok", "$(id)"]}), "args.1"),
        (json!({"command": "echo", "args": ["a\nb"]}), "args.0"),
        (json!({"command": "echo", "args": ["a\u{0}b"]}), "args.0"),
        (json!({"command": "echo", "cwd": "/etc"}), "cwd"),
        (json!({"command": "echo", "cwd": "../.."}), "cwd"),
        (json!({"command": "echo", "env": {"PATH": "/tmp"}}), "env"),
        (json!({"command": "echo", "env": {"A=B": "x"}}), "env"),
        (json!({"command": "echo", "shell": true}), "shell"),
        (json!({"command": "sh -c id", "shell": true}), "shell"),
    ] {
        let answer = pi.call("exec.run", args.clone()).await;
        let error = answer.error();
        assert_eq!(answer.result()["isError"], true, "{args}");
        assert_eq!(error["details"]["parameter"], parameter, "{args}: {error}");
    }
    pi.audited(|record| record["tool"] == "exec.run" && record["outcome"] == "permission_denied").await;
    for (args, path) in [
        (json!({"command": ""}), "/command"),
        (json!({"command": 7}), "/command"),
        (json!({"command": "echo", "args": "a"}), "/args"),
        (json!({"command": "echo", "args": [1]}), "/args/0"),
        (json!({"command": "echo", "args": vec!["a"; 65]}), "/args"),
        (json!({"command": "echo", "args": ["a".repeat(1025)]}), "/args/0"),
        (json!({"command": "echo", "timeout_ms": 999}), "/timeout_ms"),
        (json!({"command": "echo", "timeout_ms": 600_001}), "/timeout_ms"),
        (json!({"command": "echo", "stdin": "x".repeat(24 * 1024 + 1)}), "/stdin"),
        (json!({"command": "echo", "env": {"A": 1}}), "/env/A"),
        (json!({"command": "echo", "env": [{"name": "A", "value": 1}]}), "/env/A"),
        (json!({"command": "echo", "env": [{"name": "A"}]}), "/env/0/value"),
        (json!({"command": "echo", "env": ["A=1"]}), "/env/0"),
        (json!({"command": "echo", "env": "A=1"}), "/env"),
        (json!({"command": "echo", "user": "root"}), "/user"),
    ] {
        pi.call("exec.run", args).await.refused(path);
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_an_error_with_what_it_did() {
    let pi = pi().await;
    let late = pi.call("exec.run", json!({"command": "sleep", "args": ["600"], "timeout_ms": 1000})).await;
    let error = late.failed("timeout");
    assert_eq!((&error["code"], &error["timeoutMs"]), (&json!("TOOL_TIMEOUT"), &json!(1000)));
    assert_eq!((&error["details"]["timed_out"], &error["details"]["exit_code"]), (&json!(true), &json!(143)));
    assert!(error["details"]["stdout"].is_string() && error["details"]["duration_ms"].is_u64());
}

#[tokio::test]
async fn a_cancelled_command_ends() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.exec.max_running = 1;
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let id = wire.ask("tools/call", json!({"name": "exec.run", "arguments": {"command": "sleep", "args": ["600"]}}));
    wire.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(wire.answer_to(id).await.failed("cancelled")["code"], "CANCELLED");
    // Its place is free again: only one may run.
    soon(async {
        loop {
            let next = pi.call("exec.run", json!({"command": "echo"})).await;
            if next.result()["isError"] == false {
                return;
            }
            assert_eq!(next.error()["error_code"], "resource_exhausted");
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn output_comes_as_it_is_written_and_once_more_at_the_end() {
    let pi = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    let answer = wire.request("exec/run", json!({"command": "echo", "args": ["hello"], "stream": true})).await;
    assert_eq!(answer.result()["stdout"], "hello\n");
    let pieces: Vec<&Value> =
        wire.seen.iter().map(|seen| &seen.message).filter(|m| m["method"] == "exec/stream").collect();
    let text: String = pieces.iter().map(|piece| piece["params"]["data"].as_str().unwrap()).collect();
    assert!(pieces.iter().all(|piece| piece["params"]["id"] == json!(answer.id().to_string())), "{pieces:?}");
    assert!("hello\n".starts_with(&text), "{text:?}");
    // Without `stream` there are none.
    let before = wire.seen.len();
    wire.request("exec.run", json!({"command": "echo", "args": ["hello"]})).await.result();
    assert!(wire.seen[before..].iter().all(|seen| seen.message["method"] != "exec/stream"));
}

#[tokio::test]
async fn a_person_is_asked_by_default_and_sees_the_whole_command() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.policy.clear();
        settings.approval.wait_seconds = 0;
    })
    .await;
    let args = json!({"command": "cat", "args": ["a ".repeat(200)], "stdin": "secret words"});
    let waits = pi.call("exec.run", args).await;
    waits.failed("failed_precondition");
    let asks = pi.server().pipeline.services.agent.get::<op::asks::ListAsks>().await.unwrap();
    let shown = &asks[0].request.args;
    assert_eq!(shown["args"][0].as_str().unwrap().len(), 400, "nothing is cut");
    assert_eq!(shown["stdin"], "secret words", "what a program reads may be a script");
    let record = pi.audited(|record| record["tool"] == "exec.run").await;
    assert!(!record.to_string().contains("secret words"), "{record}");
}

#[tokio::test]
async fn nothing_is_listed_by_default() {
    let pi = Pi::with(|settings| {
        settings.tools.enable.insert("exec".into());
    })
    .await;
    let error = pi.call("exec.run", json!({"command": "echo"})).await;
    assert!(error.failed("permission_denied")["hint"].as_str().unwrap().contains("[[exec.commands]]"));
    Pi::start().await.call("exec.run", json!({"command": "echo"})).await.failed("permission_denied");
}

#[tokio::test]
async fn a_shell_only_where_the_owner_says_so() {
    let pi = Pi::with(|settings| {
        enabled(settings);
        settings.exec.shell = true;
    })
    .await;
    let answer = pi.call("exec.run", json!({"command": "echo a line", "shell": true})).await;
    assert_eq!(answer.ok()["stdout"], "a line\n");
    let unknown = pi.call("exec.run", json!({"command": "reboot", "shell": true})).await;
    assert_eq!(unknown.ok()["exit_code"], 127);
}
