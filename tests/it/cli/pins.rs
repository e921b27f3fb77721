//! `raspi-mcp pins`, the program, before a server that answers and before none.

use crate::support::gpio::board;
use serde_json::{Value, json};
use std::{path::Path, process::Output};

async fn pins(home: &Path, args: &[&str]) -> Output {
    tokio::process::Command::new(env!("CARGO_BIN_EXE_raspi-mcp"))
        .args(["--set", "board=simulated", "pins"])
        .args(args)
        .env_clear()
        .envs([("HOME", home), ("XDG_RUNTIME_DIR", home), ("XDG_STATE_HOME", home), ("XDG_CONFIG_HOME", home)])
        .output()
        .await
        .unwrap()
}

#[tokio::test]
async fn what_the_server_has_done_is_drawn() {
    let (pi, _) = board().await;
    let mut wire = crate::support::gpio::stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
    let socket = pi.server().pipeline.services.settings.socket.path.clone();
    let home = tempfile::tempdir().unwrap();
    let drawn = pins(home.path(), &["--socket", socket.to_str().unwrap()]).await;
    let text = String::from_utf8(drawn.stdout).unwrap();
    assert!(drawn.status.success() && text.contains("out high  GPIO17  11 O"), "{text}");
    assert!(!text.contains('\u{1b}'), "no terminal, no colours");
    let json = pins(home.path(), &["--json", "--socket", socket.to_str().unwrap()]).await.stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((json["contacts"].as_array().unwrap().len(), &json["simulated"]), (40, &json!(true)));
    let cell = &json["contacts"][10];
    assert_eq!((&cell["contact"], &cell["pin"], &cell["value"]), (&json!(11), &json!(17), &json!("high")));
    assert_eq!(json["contacts"][0]["name"], "3V3");
    let svg = pins(home.path(), &["--svg", "--socket", socket.to_str().unwrap()]).await.stdout;
    assert!(svg.starts_with(b"<svg ") && svg.ends_with(b"</svg>\n"));
}

#[tokio::test]
async fn without_a_server_the_board_itself_is_drawn_and_it_says_so() {
    let home = tempfile::tempdir().unwrap();
    let drawn = pins(home.path(), &[]).await;
    let (text, said) = (String::from_utf8(drawn.stdout).unwrap(), String::from_utf8(drawn.stderr).unwrap());
    assert!(drawn.status.success() && text.contains("simulated lines, no server runs"), "{text}{said}");
    assert!(said.contains("no server answers on") && said.contains("what the board itself shows"), "{said}");
    // A server that was named is the one that is meant.
    let named = pins(home.path(), &["--socket", home.path().join("none.sock").to_str().unwrap()]).await;
    assert_eq!((named.status.code(), named.stdout.len()), (Some(4), 0));
    let both = pins(home.path(), &["--svg", "--json"]).await;
    assert_eq!(both.status.code(), Some(2));
}
