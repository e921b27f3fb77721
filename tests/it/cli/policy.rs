//! `raspi-mcp tools --policy`: the policy of the server that runs, otherwise that of the configuration.

use crate::{
    appliance::Machine,
    support::served::process::{Process, command},
};
use contract::config::{Places, RECOVERY, Sources, load};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixListener,
};

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

/// Answers the first request on this socket with the status of a server.
async fn answers(socket: &Path, status: Value) {
    let listener = UnixListener::bind(socket).unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reader, mut writer) = stream.into_split();
        let line = BufReader::new(reader).lines().next_line().await.unwrap().unwrap();
        let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": status});
        writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    });
}

#[tokio::test]
async fn what_a_server_sets_aside_has_the_effect_that_it_has_there() {
    for (section, on) in [("[voice]\nlanguage = \"en\"\n", "yes"), ("[polcy]\n\"manage.rollback\" = \"deny\"\n", "no")]
    {
        let machine = Machine::with(&[]);
        machine.starts();
        let places = Places::below(machine.home.path());
        fs::create_dir_all(&places.site_dir).unwrap();
        fs::write(
            places.site_dir.join("60-next.toml"),
            format!("{section}[tools]\nenable = [\"manage\", \"system\"]\n"),
        )
        .unwrap();
        let settings = load(&Sources::new(places, Vec::new())).unwrap();
        let root = TempDir::new().unwrap();
        let socket = root.path().join("mcp.sock");
        let status =
            json!({"version": "1.0.0", "config_summary": settings.summary(), "config_faults": settings.restricted});
        answers(&socket, status).await;
        let named = format!("socket.path={}", socket.display());
        let mut asked = command(&root, &["tools", "--policy", "--set", &named]);
        let output = asked.env_remove("RASPI_MCP__SOCKET__PATH").output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("The policy of the server on "), "{text}");
        for tool in RECOVERY {
            let row = text.lines().find(|line| line.starts_with(&format!("| `{tool}`"))).expect("a row");
            assert_eq!(row.split('|').nth(6).unwrap().trim(), on, "{section}: {row}");
        }
    }
}
