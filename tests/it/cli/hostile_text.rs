//! What commands write to a terminal that others chose: nothing of it moves the cursor. On a pipe it stays as it is.

use crate::support::served::{Pi, soon};
use raspi_mcp::terminal::is_unseen;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::Command;

/// Clears the screen, renames the window, turns the text round, hides a letter, and poses as another field.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}1A\u{202e}b\u{200b}c\rd";

/// What `raspi-mcp` says to these arguments, both streams together: on a terminal (of util-linux' `script`), or on pipes.
async fn said(terminal: bool, args: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_raspi-mcp");
    let mut command = if terminal {
        let mut command = Command::new("script");
        // Each argument by a variable of its own: the shell changes none of it.
        let names: Vec<String> = (0..args.len()).map(|n| format!("\"$ARG{n}\"")).collect();
        command.args(["-q", "-E", "never", "-c", &format!("exec '{program}' {}", names.join(" ")), "/dev/null"]);
        for (n, arg) in args.iter().enumerate() {
            command.env(format!("ARG{n}"), arg);
        }
        command
    } else {
        let mut command = Command::new(program);
        command.args(args);
        command
    };
    let output = command.stdin(Stdio::null()).output();
    let output = soon(output).await.expect("script of util-linux is there");
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn harmless(said: &str) {
    // The terminal's own line ends.
    let lines = said.replace("\r\n", "\n");
    assert!(!lines.contains(|c| c != '\n' && is_unseen(c)), "{lines:?}");
}

#[tokio::test]
async fn complaints_and_errors_quote_hostile_text_without_obeying_it() {
    let option = format!("--{HOSTILE}");
    for args in [
        vec![HOSTILE],
        vec!["call", &option],
        vec!["call", "system.get_clock", "--arg", HOSTILE],
        vec!["call", "system.get_clock", "--url", HOSTILE],
        vec!["fleet", "status", "--inventory", HOSTILE],
        vec!["channel", "show", HOSTILE],
        vec!["bundle", "inspect", HOSTILE],
        vec!["schema", HOSTILE],
        vec!["--config", HOSTILE, "tools"],
        vec!["audit", "verify", "--file", HOSTILE],
    ] {
        let shown = said(true, &args).await;
        harmless(&shown);
        assert!(!shown.trim().is_empty(), "{args:?}");
    }
    assert!(said(true, &[HOSTILE]).await.contains("\\u009b1A\\u202eb"));
    assert!(said(false, &["call", "x", "--arg", HOSTILE]).await.contains(HOSTILE), "a pipe gets the bytes");
}

#[tokio::test]
async fn what_a_server_answers_is_shown_without_obeying_it() {
    let pi = Pi::start().await;
    let url = format!("http://{}", pi.address());
    let text = format!("{HOSTILE}\nsimulated: no");
    let args = json!({ "text": text }).to_string();
    let call = ["call", "test.echo", "--url", &url, "--args", &args];
    let shown = said(true, &call).await;
    harmless(&shown);
    assert!(!shown.lines().any(|line| line.starts_with("simulated")), "it poses as a field: {shown:?}");
    assert!(said(false, &call).await.contains(&text), "a pipe gets the bytes");
    // As JSON it is still the same JSON.
    let shown = said(true, &[&call[..], &["--json"]].concat()).await;
    harmless(&shown);
    let value: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["text"], text);
    // A refusal that quotes it.
    let refused = json!({ "nonsense\u{1b}[2J": 1 }).to_string();
    let shown = said(true, &["call", "test.echo", "--url", &url, "--args", &refused]).await;
    harmless(&shown);
    assert!(!shown.trim().is_empty());
}
