//! `raspi-mcp call`: what it says before there is a result, on the machine and from another.

use crate::{
    cli::terminal::Terminal,
    support::served::{
        process::{Process, command},
        soon,
    },
};
use agent::{AgentLink, Client, operations::asks};
use std::{fs, process::Command};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

#[tokio::test]
async fn a_call_tells_where_the_person_answers_that_it_waits_for() {
    // By default callers on this machine only read.
    let server = Process::http(&["--role", "admin", "--set", "tools.enable=system"]).await;
    let url = server.url.clone().unwrap();
    let socket = server.socket();
    let agent = AgentLink::Socket(Client::new(&server.path("run/agent.sock")));
    let elsewhere = TempDir::new().unwrap();
    for (to, is_far) in [(["--url", url.as_str()], true), (["--socket", socket.to_str().unwrap()], false)] {
        let args = [&["call", "system.reboot", "--args", r#"{"delay_seconds": 600}"#], &to[..]].concat();
        let mut call = command(&elsewhere, &args).spawn().unwrap();
        let mut said = BufReader::new(call.stderr.take().unwrap());
        let mut line = String::new();
        soon(said.read_line(&mut line)).await.unwrap();
        let id = line.trim().strip_prefix("waiting for a person: raspi-mcp approve ").expect(&line).to_owned();
        let answer = asks::AnswerRequest { id, approve: false };
        agent.call::<asks::AnswerAsk>(answer).await.unwrap();
        let mut rest = String::new();
        soon(said.read_to_string(&mut rest)).await.unwrap();
        let here = format!("here with --url {url} --key FILE --device ID");
        assert_eq!(rest.contains(&here), is_far, "{rest}");
        assert!(rest.contains("said no to system.reboot"), "{rest}");
        let output = soon(call.wait_with_output()).await.unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(5), vec![]), "standard output is for results");
    }
}

#[tokio::test]
async fn a_name_that_no_header_could_have_is_no_tool() {
    let server = Process::http(&[]).await;
    let elsewhere = TempDir::new().unwrap();
    for name in ["gpio.write_pín", "a\nb", "a b"] {
        let args = ["call", name, "--url", server.url.as_deref().unwrap()];
        let output = soon(command(&elsewhere, &args).output()).await.unwrap();
        let why = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && why.contains("there is no tool"),
            "{name:?}: {:?} {why}",
            output.status
        );
    }
}

/// After ten wrong tokens from an address the server asks it to wait: that is not the answer to a wrong token.
#[tokio::test]
async fn too_many_wrong_tokens_are_not_called_a_wrong_token() {
    let server = Process::http(&[]).await;
    let folder = TempDir::new().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "rmcp_wrong\n").unwrap();
    let args = ["call", "system.get_basic_info", "--url", server.url.as_deref().unwrap(), "--token-file"];
    let args = [&args[..], &[token.to_str().unwrap()]].concat();
    let mut said = Vec::new();
    for _ in 0..11 {
        let output = soon(command(&folder, &args).output()).await.unwrap();
        said.push((output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap()));
    }
    let (last, wrong) = said.split_last().unwrap();
    assert!(wrong.iter().all(|(code, _)| *code == 5), "{said:?}");
    assert!(last.0 == 1 && last.1.contains("too many tokens from this address were not accepted\n"), "{said:?}");
    assert!(last.1.contains("check which token the client sends"), "{said:?}");
}

/// Progress over the network is a bar on a terminal, which is gone before the result.
#[tokio::test]
async fn progress_is_a_bar_on_a_terminal_and_nothing_in_a_pipe() {
    let pi = crate::support::served::Pi::start().await;
    let url = format!("http://{}", pi.address());
    let args = ["call", "test.steps", "--args", r#"{"steps": 40, "every_ms": 20}"#, "--url", &url];
    let mut shown = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    shown.args(args).env_clear();
    let mut terminal = Terminal::of(shown, "", 80);
    terminal.shows("work       [", 2).await;
    terminal.shows("%  ", 2).await;
    terminal.shows("\r\u{1b}[Kdone: yes", 1).await;
    terminal.ends().await;
    let piped = soon(command(&TempDir::new().unwrap(), &args).output()).await.unwrap();
    assert!(piped.status.success() && piped.stderr.is_empty(), "{piped:?}");
}

/// The connection of one call ends with it: a time that the caller gave counts all the same, and without one `call` says
/// that the pin has gone back.
#[tokio::test]
async fn a_pin_with_a_time_outlives_the_call_and_one_without_is_told() {
    let server = Process::http(&["--role", "admin", "--set", "tools.enable=gpio"]).await;
    let (socket, folder) = (server.socket(), TempDir::new().unwrap());
    let called = async |tool: &str, args: &str| {
        let line = ["call", tool, "--args", args, "--json", "--socket", socket.to_str().unwrap()];
        let output = soon(command(&folder, &line).output()).await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{tool}: {said}");
        (serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), said)
    };
    for time in [r#""duration_ms": 30000"#, r#""lease_seconds": 30"#] {
        let (answer, said) = called("gpio.write_pin", &format!(r#"{{"pin": 17, "value": "high", {time}}}"#)).await;
        assert!(answer["expires_at"].is_string() && said.is_empty(), "{answer} {said}");
        // Another connection of the same user, after the end of the first.
        let (seen, _) = called("gpio.read_pin", r#"{"pin": 17}"#).await;
        assert_eq!((&seen["value"], &seen["lease"]["yours"]), (&"high".into(), &true.into()), "{time}: {seen}");
        called("gpio.release_pin", r#"{"pin": 17}"#).await;
    }
    let (answer, said) = called("gpio.write_pin", r#"{"pin": 22, "value": "high"}"#).await;
    assert_eq!(answer["held_by"], "connection");
    assert!(said.contains("GPIO 22 has gone back to its safe state") && said.contains("lease_seconds=60"), "{said}");
}
