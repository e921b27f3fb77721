//! `raspi-mcp audit verify` and `audit accept-gap`: a store that is gone, and the owner who signs for it.

use crate::support::served::{Door, Wire, process::Process};
use serde_json::json;
use std::{fs, process::Output};
use tempfile::TempDir;

/// `raspi-mcp audit` beside a server.
async fn audit(pi: &Process, args: &[&str]) -> Output {
    let mut call = tokio::process::Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    call.env_clear().env("PATH", "/usr/bin:/bin").env("RASPI_MCP__BOARD", "simulated");
    call.env("RASPI_MCP__PLACES__STATE_DIR", pi.path("state"));
    call.env("RASPI_MCP__PLACES__AGENT_STATE_DIR", pi.path("agent"));
    call.env("RASPI_MCP__PLACES__AGENT_SOCKET", pi.path("run/agent.sock"));
    call.arg("audit").args(args).stdin(std::process::Stdio::null()).output().await.unwrap()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part)).concat()
}

/// So many calls, each of which is a record.
async fn calls(pi: &Process, many: usize) {
    let mut wire = Wire::http(Door::Api, format!("{}/api/mcp", pi.url.as_ref().unwrap()));
    for _ in 0..many {
        wire.call("system.get_clock", json!({})).await.ok();
    }
}

#[tokio::test]
async fn what_is_missing_is_said_until_the_owner_accepts_it() {
    let root = TempDir::new().unwrap();
    let folder = root.path().to_owned();
    let mut pi = Process::http_in(root, &[]).await;
    let new = audit(&pi, &["verify"]).await;
    assert!(new.status.success() && said(&new).contains("no record was written yet"), "{}", said(&new));
    calls(&pi, 3).await;
    let whole = audit(&pi, &["verify"]).await;
    assert!(whole.status.success(), "{}", said(&whole));
    let nothing = audit(&pi, &["accept-gap", "--yes"]).await;
    assert!(nothing.status.success() && said(&nothing).contains("nothing is missing"), "{}", said(&nothing));
    pi.terminate();
    assert_eq!(pi.ended().await, Some(0));

    // Somebody removes the store between two runs of the server.
    for entry in fs::read_dir(folder.join("state")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().contains(".db") {
            fs::remove_file(path).unwrap();
        }
    }
    let pi = pi.again(&[]).await;
    let verify = audit(&pi, &["verify"]).await;
    assert!(!verify.status.success() && said(&verify).contains("MISSING"), "{}", said(&verify));
    // Nobody at a terminal, and nobody who has said yes.
    let unasked = audit(&pi, &["accept-gap"]).await;
    assert!(!unasked.status.success(), "{}", said(&unasked));
    assert!(!audit(&pi, &["verify"]).await.status.success());
    calls(&pi, 1).await;
    let accepted = audit(&pi, &["accept-gap", "--yes"]).await;
    assert!(accepted.status.success() && said(&accepted).contains("accepted by "), "{}", said(&accepted));
    let verify = audit(&pi, &["verify"]).await;
    assert!(verify.status.success(), "{}", said(&verify));
    let log = fs::read_to_string(folder.join("agent/operations.ndjson")).unwrap();
    assert!(log.contains("audit gap accepted"), "{log}");
}
