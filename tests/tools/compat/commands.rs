//! `exec_command`

use super::text;
use crate::support::served::Pi;
use contract::{
    config::{CommandSetting, Settings},
    meta::Mode,
};
use serde_json::json;

fn enabled(settings: &mut Settings) {
    settings.tools.enable.insert("exec".into());
    settings.policy.insert("exec.run".into(), Mode::Allow);
    settings.exec.cwd_roots = vec!["/srv/work".into()];
    for name in ["echo", "false", "pwd", "env", "sleep"] {
        let command = json!({
            "name": name, "program": format!("/bin/{name}"), "more_args": "[a-z0-9. ]*", "env": ["COLOUR"]
        });
        settings.exec.commands.push(serde_json::from_value::<CommandSetting>(command).unwrap());
    }
}

#[tokio::test]
async fn each_argument_reaches_the_command() {
    let pi = Pi::standard(enabled).await;
    let answer = pi.call("exec_command", json!({"command": "echo", "args": ["hello", "there"]})).await;
    assert_eq!((text(&answer), &answer.ok()["exit_code"]), ("hello there\n", &json!(0)));
    assert_eq!(answer.meta()["changed"], true);
    let record = pi.audited(|record| record["tool"] == "exec.run").await;
    assert_eq!(record["args"]["timeout_ms"], 30_000, "30 seconds, unless it is told otherwise");
    let answer = pi.call("exec_command", json!({"command": "pwd", "cwd": "/srv/work/sub"})).await;
    assert_eq!(text(&answer), "/srv/work/sub\n");
    let answer = pi.call("exec_command", json!({"command": "env", "env": {"COLOUR": "red"}})).await;
    assert!(text(&answer).contains("COLOUR=red"), "{}", text(&answer));
    let answer = pi.call("exec_command", json!({"command": "false", "shell": false})).await;
    assert_eq!((text(&answer), &answer.ok()["exit_code"]), ("exit code 1", &json!(1)));
}

#[tokio::test]
async fn the_timeout_is_in_seconds() {
    let pi = Pi::standard(enabled).await;
    let late = pi.call("exec_command", json!({"command": "sleep", "args": ["60"], "timeout": 1})).await;
    let late = late.failed("timeout");
    assert_eq!((&late["timeoutMs"], &late["details"]["dbus_mcp_code"]), (&json!(1000), &json!(-32005)));
    assert_eq!(late["details"]["parameter"], "timeout");
    assert!(!late["hint"].as_str().unwrap().contains("timeout_ms"), "{late}");
    pi.call("exec_command", json!({"command": "echo", "timeout": 600.0})).await.ok();
    for timeout in [json!(0), json!(601), json!("30"), json!(1.5)] {
        pi.call("exec_command", json!({"command": "echo", "timeout": timeout})).await.refused("/timeout");
    }
}

#[tokio::test]
async fn only_what_the_owner_lists_runs_and_no_shell_unless_he_allows_it() {
    let pi = Pi::standard(enabled).await;
    for args in [
        json!({"command": "rm"}),
        json!({"command": "echo hello", "shell": true}),
        json!({"command": "echo", "args": ["$(id)"]}),
        json!({"command": "env", "env": {"LD_PRELOAD": "x"}}),
        json!({"command": "pwd", "cwd": "/root"}),
    ] {
        let answer = pi.call("exec_command", args.clone()).await;
        assert_eq!(answer.failed("permission_denied")["details"]["dbus_mcp_code"], -32203, "{args}");
    }
    pi.call("exec_command", json!({"command": "echo", "stdin": "x"})).await.refused("/stdin");
    pi.call("exec_command", json!({"command": "echo", "env": {"COLOUR": 1}})).await.refused("/env/COLOUR");
    let pi = Pi::standard(|settings| {
        enabled(settings);
        settings.exec.shell = true;
    })
    .await;
    let answer = pi.call("exec_command", json!({"command": "echo hello", "shell": true})).await;
    assert_eq!(text(&answer), "hello\n");
}
