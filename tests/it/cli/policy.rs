//! `raspi-mcp tools --policy`: the policy of the server that runs, otherwise that of the configuration.

use crate::support::served::process::{Process, command};
use tempfile::TempDir;

/// The first line, and the row of `gpio.write_pin`.
async fn policy(root: &TempDir, args: &[&str]) -> (String, String) {
    let output = command(root, &[&["tools", "--policy"], args].concat()).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let row = text.lines().find(|line| line.starts_with("| `gpio.write_pin`")).expect("a row").to_owned();
    (text.lines().next().unwrap_or_default().to_owned(), row)
}

#[tokio::test]
async fn it_is_that_of_the_server_that_runs() {
    let root = TempDir::new().unwrap();
    let folder = root.path().to_owned();
    let (from, row) = policy(&root, &["--set", "tools.enable=gpio"]).await;
    assert!(from.starts_with("The policy of the configuration; no server answers on "), "{from}");
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(cells(&row)[6], "yes", "{row}");

    let set = ["--set", "tools.enable=gpio", "--set", "policy.gpio.write_pin=ask"];
    let _server = Process::http_in(root, &set).await;
    // The command's own configuration has none of it: what runs counts.
    let same = TempDir::new().unwrap();
    let socket = format!("socket.path={}", folder.join("run/mcp.sock").display());
    let mut asked = command(&same, &["tools", "--policy", "--set", &socket]);
    let output = asked.env_remove("RASPI_MCP__SOCKET__PATH").output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("The policy of the server on "), "{text}");
    let row = text.lines().find(|line| line.starts_with("| `gpio.write_pin`")).expect("a row");
    assert!(cells(row)[4].starts_with("ask") && cells(row)[6] == "yes", "{row}");
}
