//! `raspi-mcp approver` and `raspi-mcp approve --url`: an approval from another computer, with the real program.

use super::terminal::Terminal;
use crate::support::served::{
    Door,
    secure::{Owner, Secure},
    soon,
};
use contract::meta::Mode;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    process::{Command, Output},
};
use tempfile::TempDir;

/// A device that asks about pins, and a person with a computer of their own.
struct Desk {
    device: Secure,
    home: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let device = Secure::of(Owner::new(), |settings| {
            settings.tools.enable.insert("gpio".into());
            settings.policy.insert("gpio.write_pin".into(), Mode::Ask);
        })
        .await;
        Self { device, home: TempDir::new().unwrap() }
    }

    fn key(&self) -> PathBuf {
        self.home.path().join("anna.key")
    }

    /// The program on the device: at its console.
    async fn at_the_device(&self, args: &[&str]) -> Output {
        let settings = &self.device.pi.server().pipeline.services.settings;
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.arg("--set").arg(format!("places.agent_socket={}", settings.places.agent_socket.display()));
        command.args(args).env_clear().env("HOME", self.home.path());
        soon(command.output()).await.unwrap()
    }

    /// The id of the device, once anna is enrolled.
    async fn enrols(&self) -> String {
        let key = self.key();
        let made = self.at_the_device(&["approver", "key", "--out", key.to_str().unwrap()]).await;
        let public = text(&made.stdout);
        assert!(made.status.success(), "{}", text(&made.stderr));
        let added = self.at_the_device(&["approver", "add", "--name", "anna", "--key", public.trim()]).await;
        assert!(added.status.success(), "{}", text(&added.stderr));
        let said = text(&added.stdout);
        said.lines().find_map(|line| line.strip_prefix("device ")).unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// `raspi-mcp approve --url`, of this device id.
    fn approve(&self, device: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.args(["approve", "--url", &self.device.url(""), "--pin", &self.device.pin.to_string()]);
        command.arg("--key").arg(self.key()).args(["--device", device]).args(more);
        command.env_clear().env("HOME", self.home.path());
        command
    }

    async fn lists(&self, device: &str) -> Output {
        let mut command = tokio::process::Command::from(self.approve(device, &["--list"]));
        soon(command.output()).await.unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_call_waits_for_a_yes_from_another_computer() {
    let desk = Desk::new().await;
    let device = desk.enrols().await;
    let mut wire = desk.device.on(Door::Api);
    let call = tokio::spawn(async move { wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await });
    let mut asked = text(&desk.lists(&device).await.stdout);
    while !asked.contains("gpio.write_pin") {
        asked = text(&desk.lists(&device).await.stdout);
    }
    assert!(asked.contains("pin = 17") && asked.contains("token:laptop"), "{asked}");
    let mut terminal = Terminal::with(desk.approve(&device, &[]), "");
    terminal.shows("decide later]", 1).await;
    terminal.listens().await;
    terminal.types("y\n");
    terminal.shows("approved: good for one such call", 1).await;
    terminal.ends().await;
    let answer = soon(call).await.unwrap();
    assert_eq!(answer.ok()["value"], "high");
    let record = desk.device.pi.audited(|record| record["tool"] == "gpio.write_pin").await;
    assert_eq!(record["approval"]["by"], "anna", "{record}");
    assert!(record["approval"]["how"].as_str().is_some_and(|how| how.starts_with("cli key ")), "{record}");
}

#[tokio::test]
async fn who_is_not_enrolled_or_means_another_device_sees_nothing() {
    let desk = Desk::new().await;
    let device = desk.enrols().await;
    let other = desk.lists(&"0".repeat(64)).await;
    assert!(!other.status.success() && text(&other.stderr).contains("another device"), "{other:?}");
    let mistyped = desk.lists("abc").await;
    assert!(text(&mistyped.stderr).contains("64 hexadecimal digits"), "{mistyped:?}");
    let gone = desk.at_the_device(&["approver", "revoke", "anna"]).await;
    assert!(gone.status.success(), "{gone:?}");
    let revoked = desk.lists(&device).await;
    assert!(!revoked.status.success() && text(&revoked.stderr).contains("not enrolled"), "{revoked:?}");
    let left: Value =
        serde_json::from_slice(&desk.at_the_device(&["approver", "list", "--json"]).await.stdout).unwrap();
    assert_eq!(left, json!({"device": device, "approvers": [], "unread": []}));
}

#[tokio::test]
async fn a_secret_key_is_made_once_and_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new().await;
    desk.enrols().await;
    let mode = std::fs::metadata(desk.key()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = std::fs::read(desk.key()).unwrap();
    let again = desk.at_the_device(&["approver", "key", "--out", desk.key().to_str().unwrap()]).await;
    assert!(!again.status.success(), "an existing file is kept");
    assert_eq!(std::fs::read(desk.key()).unwrap(), before);
}

#[tokio::test]
async fn what_is_posted_without_a_token_is_bounded_and_judged() {
    let desk = Desk::new().await;
    desk.enrols().await;
    let client = desk.device.client();
    let post = |path: &str, body: String| {
        let request = client.post(desk.device.url(&format!("/approvals/{path}")));
        request.header("content-type", "application/json").body(body).send()
    };
    for (path, body, status) in [
        ("list", "{}".to_owned(), 400),
        ("list", "[".to_owned(), 400),
        ("list", format!("{{\"proof\":\"{}\"}}", "x".repeat(5000)), 413),
        ("answer", "{}".to_owned(), 400),
        ("nothing", "{}".to_owned(), 404),
        ("device", "{}".to_owned(), 405),
    ] {
        assert_eq!(post(path, body).await.unwrap().status().as_u16(), status, "{path}");
    }
    let plain = client.post(desk.device.url("/approvals/answer")).body("{}").send().await.unwrap();
    assert_eq!(plain.status().as_u16(), 400, "a form of another page");
    let elsewhere = client.get(desk.device.url("/approvals/device")).header("origin", "https://evil.example").send();
    assert_eq!(elsewhere.await.unwrap().status().as_u16(), 403);
    let known = client.get(desk.device.url("/approvals/device")).send().await.unwrap();
    assert_eq!(known.status().as_u16(), 200);
}
