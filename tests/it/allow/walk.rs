//! A new user's way from `./ci/serve` to a pin that blinks, with the real program: at most two commands, none of them an edited file.

use crate::support::served::{Door, Wire, soon};
use serde_json::json;
use std::process::Stdio;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

/// The program as an ordinary user of this machine, with folders below `root`.
pub fn program(root: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    command.env_clear().kill_on_drop(true).args(args).env("RASPI_MCP__BOARD", "simulated");
    for (name, folder) in [("STATE_HOME", "state"), ("RUNTIME_DIR", "run"), ("CONFIG_HOME", "config")] {
        command.env(format!("XDG_{name}"), root.path().join(folder));
    }
    // Root's folders are the machine's, and no test writes there.
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn run(root: &TempDir, args: &[&str]) -> (Option<i32>, String) {
    let output = soon(program(root, args).output()).await.unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code(), said)
}

#[tokio::test]
async fn from_serve_to_a_pin_that_blinks_takes_two_commands() {
    let root = TempDir::new().unwrap();
    for folder in ["state", "run", "config"] {
        std::fs::create_dir(root.path().join(folder)).unwrap();
    }
    if rustix::process::geteuid().is_root() {
        for path in ["", "state", "run", "config"] {
            std::os::unix::fs::chown(root.path().join(path), Some(65534), Some(65534)).unwrap();
        }
    }
    // What ./ci/serve runs.
    let mut server = program(&root, &["serve", "--http", "127.0.0.1:0"]).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let url = loop {
        let line = soon(lines.next_line()).await.unwrap().expect("it listens");
        if let Some((_, found)) = line.split_once("listening on http") {
            break format!("http{}", found.split("/mcp").next().unwrap());
        }
    };
    let read_on = tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    // An assistant tries, and is told the command.
    let mut assistant = Wire::http(Door::Api, format!("{url}/api/mcp"));
    let blink = json!({ "pin": 17, "value": "high", "duration_ms": 100 });
    let answer = assistant.call("gpio.write_pin", blink.clone()).await;
    let hint = answer.failed("permission_denied")["hint"].as_str().unwrap().to_owned();
    let command = hint.split('`').nth(1).unwrap_or_else(|| panic!("no command in: {hint}")).to_owned();
    assert_eq!(command, "raspi-mcp allow gpio.write_pin --pin 17 --for loopback");
    let readme = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(readme.contains(&format!("\n{command}\n")), "the README has another way");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let (code, said) = run(&root, &words).await;
    assert!(code == Some(0) && said.contains("it counts at once"), "{said}");
    // The same connection, and nothing was restarted.
    assistant.call("gpio.write_pin", blink.clone()).await.ok();

    // A folder takes one command as well; the same options close it.
    let notes = root.path().canonicalize().unwrap().join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("a"), "hello").unwrap();
    let read = json!({ "path": notes.join("a") });
    let answer = assistant.call("files.read", read.clone()).await;
    let hint = answer.failed("permission_denied")["hint"].as_str().unwrap().to_owned();
    let command = hint.split('`').nth(1).unwrap_or_else(|| panic!("no command in: {hint}")).to_owned();
    let mut words: Vec<&str> = command.split(' ').skip(1).collect();
    let (code, said) = run(&root, &words).await;
    assert!(code == Some(0) && said.contains("files.read is open") && said.contains("notes"), "{command}: {said}");
    assert_eq!(assistant.call("files.read", read.clone()).await.ok()["content"], "hello");
    words[0] = "revoke";
    let slashed = format!("{}/", notes.display());
    *words.last_mut().unwrap() = &slashed;
    let (code, said) = run(&root, &words).await;
    assert!(code == Some(0) && said.contains("closed"), "{words:?}: {said}");
    assistant.call("files.read", read).await.failed("permission_denied");
    let (code, said) = run(&root, &["allow", "i2c.scan_bus", "1"]).await;
    assert!(code == Some(0) && said.contains("1:0x08-0x77"), "{said}");

    let (code, said) = run(&root, &["allow", "--list"]).await;
    assert!(code == Some(0) && said.contains("gpio.write_pin") && said.contains("GPIO 17"), "{said}");
    let (code, said) = run(&root, &["revoke", "gpio.write_pin"]).await;
    assert!(code == Some(0) && said.contains("closed"), "{said}");
    assistant.call("gpio.write_pin", blink).await.failed("permission_denied");
    for (args, code, says) in [
        (&["allow", "gpio.write_pn"][..], 2, "did you mean gpio.write_pin?"),
        (&["allow", "gpio.write_pin", "--pin", "99"], 2, "2 to 27"),
        (&["allow", "gpio.write_pin", "--for", "nobody-of-that-name"], 2, "no token and no user"),
        (&["allow", "files.read", "--path", "/etc"], 2, "overlaps"),
        (&["allow", "files.read", "notes"], 2, "is not the full path"),
        (&["allow", "gpio.write_pin", "--path", "/srv"], 2, "folders for files.*"),
        (&["allow", "exec.run"], 5, "[[exec.commands]]"),
        (&["revoke", "gpio.write_pin"], 1, "holds nothing"),
    ] {
        let (ended, said) = run(&root, args).await;
        assert!(ended == Some(code) && said.contains(says), "{args:?}: {ended:?} {said}");
    }
    server.kill().await.unwrap();
    read_on.abort();
}
