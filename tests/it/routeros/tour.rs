//! The tour of docs/routeros.md, taken as it is written: a simulated router, a simulated Pi, and a person at a terminal.

use crate::support::served::soon;
use appliance::certificate::Fingerprint;
use routeros_simulator::{PASSWORD, Profile, Router, server::Listener};
use serde_json::Value;
use std::{path::Path, process::Stdio, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

const HEADING: &str = "## Try it without a router, in five minutes";
/// `raspi-mcp routeros test` waits for the router's timer of 10 s.
const LONGEST: Duration = Duration::from_secs(60);

/// A person types when the screen does not change any more.
const STILL: Duration = Duration::from_millis(300);

/// The section's lines of shell.
fn lines() -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/routeros.md")).unwrap();
    let (_, tour) = page.split_once(HEADING).expect("the page has a tour");
    let (tour, _) = tour.split_once("\n## ").expect("something comes after it");
    tour.split("```\n").skip(1).step_by(2).flat_map(str::lines).map(str::to_owned).collect()
}

/// A shell of somebody who is not root, as `./ci/serve` and its file `env` make it.
fn shell(desk: &Path, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_raspi-mcp")).parent().unwrap();
    let prepared = format!(". ci/lib.sh; set +e; own_board '{}'; {line}", desk.display());
    let mut shell = if rustix::process::geteuid().is_root() {
        let mut shell = Command::new("unshare");
        shell.args(["--user", "--map-user=1000", "--map-group=100", "bash", "-c", &prepared]);
        shell
    } else {
        let mut shell = Command::new("bash");
        shell.args(["-c", &prepared]);
        shell
    };
    shell.env_clear().env("PATH", format!("{}:/usr/bin:/bin", program.display())).env("HOME", desk);
    shell.current_dir(env!("CARGO_MANIFEST_DIR")).kill_on_drop(true);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// A simulated Pi; it answers when this returns.
async fn pi(desk: &Path) -> Child {
    let mut pi = shell(desk, "exec raspi-mcp serve --role admin --http 127.0.0.1:0").spawn().unwrap();
    let mut said = BufReader::new(pi.stderr.take().unwrap()).lines();
    while let Some(line) = soon(said.next_line()).await.unwrap() {
        if line.contains("mcp.sock") {
            tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
            return pi;
        }
    }
    panic!("it does not listen");
}

/// What a command prints, or why it failed.
async fn tried(desk: &Path, line: &str) -> Result<String, String> {
    let output = timeout(LONGEST, shell(desk, line).output()).await.unwrap().unwrap();
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(said.into_owned()) } else { Err(format!("{line}: {said}{why}")) }
}

async fn run(desk: &Path, line: &str) -> String {
    tried(desk, line).await.unwrap_or_else(|why| panic!("{why}"))
}

/// What a command prints that waits for a person. It is given again if nobody was fast enough: the approval is still good.
async fn run_until_approved(desk: &Path, line: &str) -> String {
    loop {
        match tried(desk, line).await {
            Ok(said) => return said,
            Err(why) => assert!(why.contains("nobody has answered yet"), "{why}"),
        }
    }
}

/// A person at a terminal, who types when asked. What the terminal showed.
async fn typed(desk: &Path, line: &str, asked: &str, answer: &str) -> String {
    let mut shell = shell(desk, &format!("exec script -qec '{line}' /dev/null")).spawn().unwrap();
    let (mut keys, mut screen) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    let talk = async {
        let (mut shown, mut part) = (String::new(), [0; 1024]);
        loop {
            match timeout(STILL, screen.read(&mut part)).await {
                Ok(Ok(0) | Err(_)) => return shown,
                Ok(Ok(count)) => shown.push_str(&String::from_utf8_lossy(&part[..count])),
                // What is typed before the question counts for nothing.
                Err(_) if shown.contains(asked) => drop(keys.write_all(format!("{answer}\n").as_bytes()).await),
                Err(_) => {}
            }
        }
    };
    let shown = timeout(LONGEST, talk).await.unwrap();
    assert!(soon(shell.wait()).await.unwrap().success(), "{line}: {shown}");
    shown
}

/// Waits until somebody is asked.
async fn is_asked(desk: &Path) {
    let waits = async { while run(desk, "raspi-mcp approve --list").await.contains("nothing waits") {} };
    timeout(LONGEST, waits).await.unwrap();
}

#[tokio::test]
async fn it_is_taken_as_written() {
    let desk = TempDir::new().unwrap();
    let desk = desk.path();
    let router = Router::new(Profile::V7_21);
    let mut listener = Listener::bind(router.clone(), "127.0.0.1:0").await.unwrap();
    listener.follow_the_clock();
    let pin = Fingerprint::of(listener.certificate()).to_string();
    let mut lines = lines().into_iter();
    assert_eq!(lines.next().unwrap(), "cargo run --example routeros");
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/routeros.rs").is_file());
    assert_eq!(lines.next().unwrap(), ". build/serve/env");

    let mut pi_before = pi(desk).await;
    let add = lines.next().unwrap();
    let words: Vec<&str> = add.split(' ').collect();
    let given: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, word)| match at.checked_sub(1).map_or("", |before| words[before]) {
            "--address" => listener.address().to_string(),
            "--pin" => pin.clone(),
            _ => (*word).to_owned(),
        })
        .collect();
    let shown = typed(desk, &given.join(" "), "password of raspi on the router: ", PASSWORD).await;
    assert!(shown.contains("written: ") && !shown.contains(PASSWORD), "{shown}");
    soon(pi_before.kill()).await.unwrap();
    let _pi = pi(desk).await;

    let (mut plan, mut told) = (Value::Null, Vec::new());
    for line in lines {
        let Some(call) = line.strip_prefix("raspi-mcp call ") else {
            told.push(run(desk, &line).await);
            continue;
        };
        let (tool, is_apply) = (call.split(' ').next().unwrap(), call.contains("plan-..."));
        let line = line.replace("plan-...", plan["plan_id"].as_str().unwrap_or("plan-..."));
        let call = format!("{line} --json");
        let answer = if is_apply {
            let approves = async {
                is_asked(desk).await;
                typed(desk, "raspi-mcp approve", "Enter = decide later] ", "y").await
            };
            let (answer, shown) = tokio::join!(run_until_approved(desk, &call), approves);
            for said in ["edge", "198.51.100.0/24", plan["plan_hash"].as_str().unwrap()] {
                assert!(shown.replace(['\r', '\n', ' ', '»'], "").contains(said), "{said} is not in {shown}");
            }
            answer
        } else {
            run(desk, &call).await
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        told.push(format!("{tool} {answer}"));
        if tool.contains(".plan_") {
            plan = answer;
        }
    }
    assert!(router.export().contains("set name=attic"), "{}", router.export());
    let rules = router.rows("ip/firewall/filter");
    let rule = rules.iter().find(|rule| rule.get("src-address") == "198.51.100.0/24");
    assert_eq!(rule.map(|rule| rule.get("chain")), Some("forward"), "{told:#?}");
    assert!(router.rows("system/scheduler").is_empty());
    assert_eq!(told.len(), 5, "each line of the tour was taken: {told:#?}");
}
